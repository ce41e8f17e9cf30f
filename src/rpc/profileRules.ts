import type { Hex } from 'viem'
import { type BatchEvidence, type BatchObservation, noBatchEvidence, reduceBatch } from './batchRules.js'
import { isLatestBlock, type LightHeader } from './codec.js'
import type { EndpointProfile } from './profile.js'

/** Something seen of an endpoint that tells what it does. */
export type ProfileObservation =
  /**
   * A `pending` count that rode along, last, in the very batch in which this endpoint accepted the fresh nonces from
   * `sentFrom` to `sentUpTo`. To be left out for nonces that were sent or counted before.
   */
  | {
      readonly kind: 'countAfterSend'
      readonly sentFrom: number
      readonly sentUpTo: number
      readonly count: number
      /** When the batch was answered, in clock milliseconds. */
      readonly atMs: number
    }
  /**
   * A `pending` count that rode along in a batch in which this endpoint took the lowest nonce that no block holds. The nonce
   * had been sent before, and the endpoint did not say that it knew it.
   */
  | { readonly kind: 'countAfterResend'; readonly nonce: number; readonly count: number }
  /** A `pending` count, beside a pending block that held none of our nonces. */
  | { readonly kind: 'countWithoutBlock'; readonly count: number; readonly askedAtMs: number }
  /** A nonce was seen in the body of the pending block, with the `pending` count read in the same batch. */
  | { readonly kind: 'countWithBlock'; readonly nonce: number; readonly count: number }
  /**
   * A pending block and the latest header, read in one batch. `number` as answered: null where it has none. `isLatest`: both
   * are one block (`isLatestBlock`).
   */
  | {
      readonly kind: 'pendingBlock'
      readonly number: number | null
      readonly latestNumber: number
      readonly isLatest: boolean
    }
  /** The tag `pending` was refused, or answered null for a block. */
  | { readonly kind: 'pendingMissing' }
  /** Storage or code at `pending` was seen to hold (or not) what the pending block changed. */
  | { readonly kind: 'pendingState'; readonly usable: boolean }
  | {
      readonly kind: 'methodRefused'
      readonly method: string
      readonly status?: number | undefined
      readonly rpcCode?: number | undefined
    }
  | { readonly kind: 'methodAnswered'; readonly method: string }
  | BatchObservation
  /**
   * A nonce was refused for lack of the ones below it. `overtook`: the one right below it was in the same batch, before
   * it, and was taken.
   */
  | { readonly kind: 'gapRefused'; readonly overtook: boolean }
  | { readonly kind: 'cadence'; readonly cadenceMs: number }
  /** What `web3_clientVersion` answered. */
  | { readonly kind: 'client'; readonly version: string }
  /** What a delivery has shown, when it ends. */
  | { readonly kind: 'delivered'; readonly delivery: EndpointProfile['delivery'] }
  | { readonly kind: 'chain'; readonly chainId: number; readonly genesisHash?: Hex | undefined }

/** `head`: the highest head that is known, where that may be above the latest header of the batch. */
export function seenPendingBlock(
  pending: LightHeader,
  latest: LightHeader & { readonly number: number },
  head = latest.number,
): ProfileObservation {
  const isLatest = isLatestBlock(pending, latest)
  return { kind: 'pendingBlock', number: pending.number, latestNumber: head, isLatest }
}

/** What has been seen but does not suffice yet. */
export type Evidence = {
  /** What sends in a row, counted at once in whole or in part, speak for a mempool that counts. */
  readonly countedAtOnce: number
  /** Sends in a row that were not counted at once. */
  readonly uncountedTimes: number
  /** Nonces that were sent and not counted at once, the lowest and the highest, and when they were answered. */
  readonly uncounted: { readonly from: number; readonly nonce: number; readonly atMs: number } | undefined
  /** The lowest of those that a count which was asked for after that answer still lacked. */
  readonly lackedFrom: number | undefined
  /** What such nonces weigh that came into the count together with the pending block that holds them. */
  readonly countedWithBlock: number
  /** Times that the count lacked what the pending block held: one of the two is not what it should be. */
  readonly lackedByCount: number
  /** Times in a row that the pending block was the latest one. */
  readonly pendingIsLatest: number
  /** Nonces that were refused for lack of the ones below them. */
  readonly gapsRefused: number
  readonly batch: BatchEvidence
}

export const noEvidence: Evidence = {
  countedAtOnce: 0,
  uncountedTimes: 0,
  uncounted: undefined,
  lackedFrom: undefined,
  countedWithBlock: 0,
  lackedByCount: 0,
  pendingIsLatest: 0,
  gapsRefused: 0,
  batch: noBatchEvidence,
}

export type ProfileState = { readonly profile: EndpointProfile; readonly evidence: Evidence }

// A flashblock that lands between the send and the count looks like a counted mempool, once. One that lands while a
// batch is worked through looks like a mempool of a node that does several calls at a time: anvil 1.7 counts 63 of 64
// and 63 of 100 (measured). So that says less.
const IN_WHOLE = 2
const IN_PART = 1
const COUNTED_AT_ONCE_MIN = 2 * IN_WHOLE
// geth 1.17.10 under load leaves a batch in fifty out of the count that ends it, for some milliseconds (measured); and what
// was lost on its way is lacked as well. A second send in a row says that the count leaves the pool out.
const UNCOUNTED_MIN = 2
// A nonce that a pool shows a moment late comes into the count with the block that is built from the pool. What is lacked
// by a later look, too, is lacked by the pending state. A single sequencer has no public pool.
const LACKED_LATER = 2
const LACKED_AT_ONCE = 1
const WITH_BLOCK_MIN = 2
// A missed flashblock makes `pending` fall back to `latest` for a moment.
const PENDING_IS_LATEST_MIN = 3
// A flashblock between the two readings, or a backend that lags, makes a count lack what the block holds as well.
const LACKED_MAX = 2
const SEND_SYNC = 'eth_sendRawTransactionSync'
const BLOCK_RECEIPTS = 'eth_getBlockReceipts'

/** The profile after an observation: pure. The very same object where nothing changed. */
export function reduceProfile(state: ProfileState, observation: ProfileObservation): ProfileState {
  const { profile, evidence } = state
  const set = (part: Partial<EndpointProfile>): ProfileState => ({
    evidence,
    profile: { ...profile, ...part },
  })
  switch (observation.kind) {
    case 'countAfterSend':
      return countAfterSend(state, observation)
    case 'countAfterResend':
      return countAfterResend(state, observation.nonce, observation.count)
    case 'countWithoutBlock':
      return countWithoutBlock(state, observation.count, observation.askedAtMs)
    case 'countWithBlock':
      return countWithBlock(state, observation.nonce, observation.count)
    case 'pendingBlock':
      return pendingBlock(state, observation)
    case 'pendingMissing':
      // A count may be answered where the block is not, so what the counts have shown stands.
      return profile.pending === 'unknown' || profile.pending === 'latest'
        ? set({ pending: 'absent' })
        : state
    case 'pendingState':
      return set({ pendingState: observation.usable })
    case 'methodRefused':
      return set(methodPart(observation.method, false))
    case 'methodAnswered':
      return set(methodPart(observation.method, true))
    case 'batchAnswered':
    case 'batchRefused':
    case 'batchLost':
    case 'batchBroken':
    case 'batchLimited':
      return batchSeen(state, observation)
    case 'gapRefused':
      return gapRefused(state, observation.overtook)
    case 'cadence':
      return set({ cadenceMs: observation.cadenceMs })
    case 'client':
      return set(clientPart(profile, observation.version))
    case 'delivered':
      return set({ delivery: observation.delivery })
    case 'chain':
      return set({
        chainId: observation.chainId,
        genesisHash: observation.genesisHash ?? profile.genesisHash,
      })
    default:
      return observation satisfies never
  }
}

function countAfterSend(
  state: ProfileState,
  { sentFrom, sentUpTo, count, atMs }: Extract<ProfileObservation, { kind: 'countAfterSend' }>,
): ProfileState {
  // It lacks what comes before them, as one that lags does: no mempool counts past that.
  if (count < sentFrom) return state
  if (count === sentFrom) return notCountedAtOnce(state, { from: sentFrom, nonce: sentUpTo, atMs })
  // All but the last: a flashblock would have to land right between the two.
  return countedAtOnce(state, count >= sentUpTo ? IN_WHOLE : IN_PART)
}

/** What a flashblock brings meanwhile looks like a counted mempool: so it takes several in a row. */
function countAfterResend(state: ProfileState, nonce: number, count: number): ProfileState {
  if (count > nonce) return countedAtOnce(state, IN_PART)
  const { profile, evidence } = state
  return evidence.countedAtOnce === 0 ? state : { profile, evidence: { ...evidence, countedAtOnce: 0 } }
}

function countedAtOnce({ profile, evidence }: ProfileState, weight: number): ProfileState {
  const says = evidence.countedAtOnce + weight
  const next = { ...evidence, countedAtOnce: says, uncountedTimes: 0, countedWithBlock: 0 }
  if (profile.pending === 'mempool') return { profile, evidence: next }
  if (says >= COUNTED_AT_ONCE_MIN) return { profile: { ...profile, pending: 'mempool' }, evidence: next }
  // Contradicted: from here on it takes two again.
  const contradicted = weight === IN_WHOLE && profile.pending !== 'unknown'
  return { profile: contradicted ? { ...profile, pending: 'unknown' } : profile, evidence: next }
}

function notCountedAtOnce(
  { profile, evidence }: ProfileState,
  sent: NonNullable<Evidence['uncounted']>,
): ProfileState {
  // Where the one before was counted, a batch answered out of order looks like that too, once (JSON-RPC 2.0, section 6).
  const { uncounted, countedAtOnce } = evidence
  const nonce = Math.max(sent.nonce, uncounted?.nonce ?? 0)
  const uncountedTimes = evidence.uncountedTimes + 1
  const contradicted = profile.pending === 'mempool' && uncountedTimes >= UNCOUNTED_MIN
  return {
    profile: contradicted ? { ...profile, pending: 'unknown' } : profile,
    evidence: {
      ...evidence,
      countedAtOnce: 0,
      uncountedTimes,
      uncounted: countedAtOnce > 0 ? uncounted : { ...sent, nonce },
    },
  }
}

function countWithoutBlock(state: ProfileState, count: number, askedAtMs: number): ProfileState {
  const { profile, evidence } = state
  const { uncounted, lackedFrom } = evidence
  if (uncounted === undefined || askedAtMs < uncounted.atMs || count > uncounted.nonce) return state
  // They were above a gap: they come into the count once that is filled, whatever it includes.
  if (count < uncounted.from)
    return { profile, evidence: { ...evidence, uncounted: undefined, lackedFrom: undefined } }
  return lackedFrom === count ? state : { profile, evidence: { ...evidence, lackedFrom: count } }
}

/**
 * A count that shows `latest` for a while, on a node that builds its pending block from its pool, looks like a
 * pre-confirmed state when it ends. It shows itself by a block that holds what it lacks; then one nonce is not enough.
 */
function countWithBlock({ profile, evidence }: ProfileState, nonce: number, count: number): ProfileState {
  if (profile.pending === 'mempool') return { profile, evidence }
  if (count <= nonce) {
    const lackedByCount = Math.min(LACKED_MAX, evidence.lackedByCount + 1)
    return { profile, evidence: { ...evidence, uncounted: undefined, lackedByCount } }
  }
  const { uncounted, lackedFrom } = evidence
  if (uncounted === undefined || nonce > uncounted.nonce) return { profile, evidence }
  const isLackedLater = lackedFrom !== undefined && nonce >= lackedFrom
  const weight = isLackedLater || profile.singleSequencer === true ? LACKED_LATER : LACKED_AT_ONCE
  const countedWithBlock = evidence.countedWithBlock + weight
  const next = { ...evidence, uncounted: undefined, lackedFrom: undefined, countedWithBlock }
  const isProven = countedWithBlock >= WITH_BLOCK_MIN * (1 + evidence.lackedByCount)
  return { profile: isProven ? { ...profile, pending: 'preconfirmed' } : profile, evidence: next }
}

type PendingBlock = Extract<ProfileObservation, { kind: 'pendingBlock' }>

function pendingBlock({ profile, evidence }: ProfileState, seen: PendingBlock): ProfileState {
  if (!seen.isLatest) {
    // A pending block of its own, where there was said to be none.
    const contradicted =
      profile.pending === 'absent' ||
      (profile.pending === 'latest' && (seen.number === null || seen.number > seen.latestNumber))
    return {
      profile: contradicted ? { ...profile, pending: 'unknown' } : profile,
      evidence: evidence.pendingIsLatest === 0 ? evidence : { ...evidence, pendingIsLatest: 0 },
    }
  }
  const times = evidence.pendingIsLatest + 1
  const next = { ...evidence, pendingIsLatest: times }
  const open = profile.pending === 'unknown' || profile.pending === 'absent'
  return open && times >= PENDING_IS_LATEST_MIN
    ? { profile: { ...profile, pending: 'latest' }, evidence: next }
    : { profile, evidence: next }
}

// One may come from a backend that lags behind the others.
const GAPS_REFUSED_MIN = 2

/**
 * Hardhat 2.29 runs the calls of a batch in parallel and refuses what is above a gap while it mines by itself ("Note that
 * transactions can't be queued when automining"); Nitro keeps it for a second, and refuses it then.
 */
function gapRefused({ profile, evidence }: ProfileState, overtook: boolean): ProfileState {
  const next = { ...evidence, gapsRefused: evidence.gapsRefused + 1 }
  const isKnown = next.gapsRefused >= GAPS_REFUSED_MIN
  if (!isKnown && !overtook) return { profile, evidence: next }
  const learned = { ...(isKnown ? { gapBudget: 0 } : {}), ...(overtook ? { batchInOrder: false } : {}) }
  return { profile: { ...profile, ...learned }, evidence: next }
}

/**
 * geth and what is made from it (`op-geth`, `bor` and others say so too): `AccountQueue` of `core/txpool/legacypool`, and
 * `rpc/handler.go`, which runs the calls of a batch one after the other. In one request in order nothing is gapped, so
 * that a large one is safe; it takes 1,000 calls and keeps 4,096 executable transactions (`node/defaults.go`, legacypool).
 * `pending` counts its pool (`GetPoolNonce` in `eth/api_backend.go`); what shows otherwise takes that back.
 */
const GETH: Client = {
  name: /^(?:op-)?geth\//i,
  traits: { gapBudget: 64, batchInOrder: true },
  delivery: { window: 1_000, pool: undefined, batch: 1_000 },
}

/**
 * anvil keeps whatever is above a gap and as many of an account as it is sent (`eth/pool/transactions.rs`; it counted
 * 12,000 with mining off), and takes half as much again in four requests at once as in one after the other (measured on
 * 1.7.1 with two cores).
 */
const ANVIL: Client = {
  name: /^anvil\//i,
  traits: { gapBudget: 4_096 },
  delivery: { window: 1_000, pool: 100_000, batch: undefined },
}

type Client = {
  readonly name: RegExp
  readonly traits: Pick<Partial<EndpointProfile>, 'gapBudget' | 'batchInOrder'>
  readonly delivery: EndpointProfile['delivery']
}

const CLIENT_CHARS_MAX = 200

function clientPart(profile: EndpointProfile, version: string): Partial<EndpointProfile> {
  const client = version.slice(0, CLIENT_CHARS_MAX)
  const known = [GETH, ANVIL].find(({ name }) => name.test(client))
  if (known === undefined) return { client }
  const { traits, delivery } = known
  return {
    client,
    gapBudget: profile.gapBudget ?? traits.gapBudget,
    batchInOrder: profile.batchInOrder ?? traits.batchInOrder,
    pending: profile.pending === 'unknown' ? 'mempool' : profile.pending,
    delivery: largerOf(profile.delivery, delivery),
  }
}

/** What was shown before the name was known may be less than the client is known to take. */
function largerOf(shown: EndpointProfile['delivery'], known: EndpointProfile['delivery']) {
  const isLess = (shown.window ?? 0) < (known.window ?? 0)
  const { window, pool, batch } = known
  return isLess ? { window, pool: shown.pool ?? pool, batch: shown.batch ?? batch } : shown
}

function methodPart(method: string, usable: boolean): Partial<EndpointProfile> {
  if (method === BLOCK_RECEIPTS) return { blockReceipts: usable }
  if (method === 'eth_simulateV1') return { simulateV1: usable }
  return method === SEND_SYNC ? { sendSync: usable } : {}
}

function batchSeen({ profile, evidence }: ProfileState, observation: BatchObservation): ProfileState {
  const reduced = reduceBatch({ batch: profile.batch, evidence: evidence.batch }, observation)
  return {
    profile: { ...profile, batch: reduced.batch },
    evidence: { ...evidence, batch: reduced.evidence },
  }
}
