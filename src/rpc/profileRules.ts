import { type BatchEvidence, type BatchObservation, noBatchEvidence, reduceBatch } from './batchRules.js'
import { isLatestBlock, type LightHeader } from './codec.js'
import type { EndpointProfile } from './profile.js'
import { SEND_SYNC } from './sendSync.js'
import { reduceSendSync, type SendSyncObservation } from './sendSyncRules.js'

/** An observation that shows the behaviour of an endpoint. */
export type ProfileObservation =
  /**
   * A `pending` count read as the last call of the batch in which this endpoint accepted the fresh nonces
   * from `sentFrom` to `sentUpTo`. Not to be reported for nonces that were sent or counted before.
   */
  | {
      readonly kind: 'countAfterSend'
      readonly sentFrom: number
      readonly sentUpTo: number
      readonly count: number
      /** The time of the batch answer, in clock milliseconds. */
      readonly atMs: number
    }
  /**
   * A `pending` count read in a batch in which this endpoint accepted the lowest nonce that no block
   * contains. The nonce had been sent before, and the endpoint did not report it as already known.
   */
  | { readonly kind: 'countAfterResend'; readonly nonce: number; readonly count: number }
  /** A `pending` count, read together with a pending block that contained none of our nonces. */
  | { readonly kind: 'countWithoutBlock'; readonly count: number; readonly askedAtMs: number }
  /** A nonce was seen in the body of the pending block, with the `pending` count read in the same batch. */
  | { readonly kind: 'countWithBlock'; readonly nonce: number; readonly count: number }
  /**
   * A pending block and the latest header, read in one batch. `number` as answered: null if the pending block
   * has none. `isLatest`: both are the same block (`isLatestBlock`).
   */
  | {
      readonly kind: 'pendingBlock'
      readonly number: number | null
      readonly latestNumber: number
      readonly isLatest: boolean
    }
  /** The tag `pending` was refused, or a block request with it was answered with null. */
  | { readonly kind: 'pendingMissing' }
  /** A plain read of storage or code at `pending` was seen to show (or not) the changes of the pending block. */
  | { readonly kind: 'pendingState'; readonly usable: boolean }
  | {
      readonly kind: 'methodRefused'
      readonly method: string
      readonly status?: number | undefined
      readonly rpcCode?: number | undefined
    }
  | { readonly kind: 'methodAnswered'; readonly method: string }
  | SendSyncObservation
  | BatchObservation
  /**
   * A nonce was refused because lower nonces were missing. `overtook`: the nonce directly below it was in the
   * same batch, before it, and was accepted.
   */
  | { readonly kind: 'gapRefused'; readonly overtook: boolean }
  /** The answer to `web3_clientVersion`. */
  | { readonly kind: 'client'; readonly version: string }
  /** The results of a delivery, reported at its end. */
  | { readonly kind: 'delivered'; readonly delivery: EndpointProfile['delivery'] }

/** `head`: the highest known block, if that may be above the latest header of the batch. */
export function seenPendingBlock(
  pending: LightHeader,
  latest: LightHeader & { readonly number: number },
  head = latest.number,
): ProfileObservation {
  const isLatest = isLatestBlock(pending, latest)
  return { kind: 'pendingBlock', number: pending.number, latestNumber: head, isLatest }
}

/** Observations that do not suffice for a decision yet. */
export type Evidence = {
  /**
   * Total weight of consecutive sends that were counted at once, in whole or in part. It speaks for a mempool
   * that counts.
   */
  readonly countedAtOnce: number
  /** Number of consecutive sends that were not counted at once. */
  readonly uncountedTimes: number
  /** The lowest and the highest nonce that were sent and not counted at once, and the time of the answer. */
  readonly uncounted: { readonly from: number; readonly nonce: number; readonly atMs: number } | undefined
  /** The lowest of these nonces that was still missing from a count requested after that answer. */
  readonly lackedFrom: number | undefined
  /**
   * Total weight of such nonces that entered the count together with the pending block that contains them.
   */
  readonly countedWithBlock: number
  /** Number of times that the count lacked a nonce of the pending block: one of the two is wrong. */
  readonly lackedByCount: number
  /** Number of consecutive times that the pending block was the latest block. */
  readonly pendingIsLatest: number
  /** Number of nonces that were refused because lower nonces were missing. */
  readonly gapsRefused: number
  /** Number of consecutive sync sends that ended without a known answer. */
  readonly syncLost: number
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
  syncLost: 0,
  batch: noBatchEvidence,
}

export type ProfileState = { readonly profile: EndpointProfile; readonly evidence: Evidence }

// A flashblock that lands between the send and the count looks like a counted mempool, once. If it lands
// while a batch is processed, it looks like the mempool of a node that runs several calls at a time: anvil
// 1.7 counts 63 of 64 and 63 of 100 (measured). So a partial count weighs less.
const IN_WHOLE = 2
const IN_PART = 1
const COUNTED_AT_ONCE_MIN = 2 * IN_WHOLE
// Under load geth 1.17.10 omits one batch in fifty from the count at its end, for some milliseconds
// (measured). Transactions lost on the way are missing from the count as well. Only a second such send in a
// row shows that the count excludes the pool.
const UNCOUNTED_MIN = 2
// A nonce that a pool shows a moment late enters the count with the block that is built from the pool. A
// nonce that a later reading still lacks is missing from the pending state too. A single sequencer has no
// public pool.
const LACKED_LATER = 2
const LACKED_AT_ONCE = 1
const WITH_BLOCK_MIN = 2
// After a missed flashblock `pending` equals `latest` for a moment.
const PENDING_IS_LATEST_MIN = 3
// A flashblock between the two readings, or a lagging backend, also makes a count lack a nonce of the block.
const LACKED_MAX = 2
const BLOCK_RECEIPTS = 'eth_getBlockReceipts'

/** The profile after an observation. Pure. Returns the same object if nothing changed. */
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
      // A node may answer the count but not the block, so the conclusions from counts stay.
      return profile.pending === 'unknown' || profile.pending === 'latest'
        ? set({ pending: 'absent' })
        : state
    case 'pendingState':
      return set({ pendingState: observation.usable })
    case 'methodRefused':
      return set(methodPart(observation.method, false))
    case 'methodAnswered':
      return set(methodPart(observation.method, true))
    case 'sendSync':
    case 'sendSyncAnswered':
    case 'sendSyncLost':
      return sendSyncSeen(state, observation)
    case 'batchAnswered':
    case 'batchRefused':
    case 'batchLost':
    case 'batchBroken':
    case 'batchLimited':
      return batchSeen(state, observation)
    case 'gapRefused':
      return gapRefused(state, observation.overtook)
    case 'client':
      return set(clientPart(profile, observation.version))
    case 'delivered':
      return set({ delivery: observation.delivery })
    default:
      return observation satisfies never
  }
}

function countAfterSend(
  state: ProfileState,
  { sentFrom, sentUpTo, count, atMs }: Extract<ProfileObservation, { kind: 'countAfterSend' }>,
): ProfileState {
  if (count < sentFrom) return stillUncounted(state, sentUpTo, count)
  if (count === sentFrom) return notCountedAtOnce(state, { from: sentFrom, nonce: sentUpTo, atMs })
  // All but the last nonce: a flashblock would have to land exactly between the two calls.
  return countedAtOnce(state, count >= sentUpTo ? IN_WHOLE : IN_PART)
}

/**
 * The count lacks even the nonces before these. In a burst they are those that were not counted at once, and
 * these are not counted either. Otherwise it is a lagging backend's count: no mempool counts past such a gap.
 */
function stillUncounted(state: ProfileState, sentUpTo: number, count: number): ProfileState {
  const { profile, evidence } = state
  const { uncounted } = evidence
  if (uncounted?.from !== count || sentUpTo <= uncounted.nonce) return state
  return { profile, evidence: { ...evidence, uncounted: { ...uncounted, nonce: sentUpTo } } }
}

/** A flashblock that arrives meanwhile looks like a counted mempool, so several in a row are required. */
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
  // A contradiction: from here on two observations are required again.
  const contradicted = weight === IN_WHOLE && profile.pending !== 'unknown'
  return { profile: contradicted ? { ...profile, pending: 'unknown' } : profile, evidence: next }
}

function notCountedAtOnce(
  { profile, evidence }: ProfileState,
  sent: NonNullable<Evidence['uncounted']>,
): ProfileState {
  // If the previous send was counted, a batch answered out of order looks like this too, once (JSON-RPC 2.0,
  // section 6).
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
  // The nonces were above a gap. They enter the count once the gap is filled, so this count proves nothing.
  if (count < uncounted.from)
    return { profile, evidence: { ...evidence, uncounted: undefined, lackedFrom: undefined } }
  return lackedFrom === count ? state : { profile, evidence: { ...evidence, lackedFrom: count } }
}

/**
 * If a node that builds its pending block from its pool shows a count equal to `latest` for a while, the end
 * of that phase looks like a pre-confirmed state. A pending block with nonces that the count lacks reveals
 * such a node; then one nonce is not enough.
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
    // The node shows a pending block of its own, although it reported none before.
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

// A single refusal may come from a backend that lags behind the others.
const GAPS_REFUSED_MIN = 2

/**
 * Hardhat 2.29 runs the calls of a batch in parallel and refuses transactions above a gap while automining is
 * on ("Note that transactions can't be queued when automining"). Nitro keeps such a transaction for a second,
 * and then refuses it.
 */
function gapRefused({ profile, evidence }: ProfileState, overtook: boolean): ProfileState {
  const next = { ...evidence, gapsRefused: evidence.gapsRefused + 1 }
  const isKnown = next.gapsRefused >= GAPS_REFUSED_MIN
  if (!isKnown && !overtook) return { profile, evidence: next }
  const learned = { ...(isKnown ? { gapBudget: 0 } : {}), ...(overtook ? { batchInOrder: false } : {}) }
  return { profile: { ...profile, ...learned }, evidence: next }
}

/**
 * geth and its forks (`op-geth`, `bor` and others identify themselves as such): `AccountQueue` of
 * `core/txpool/legacypool`, and `rpc/handler.go`, which runs the calls of a batch one after the other. Within
 * one ordered request no transaction is above a gap, so a large request is safe; geth accepts 1,000 calls and
 * keeps 4,096 executable transactions (`node/defaults.go`, legacypool). `pending` counts its pool
 * (`GetPoolNonce` in `eth/api_backend.go`); contrary observations withdraw that.
 */
const GETH: Client = {
  name: /^(?:op-)?geth\//i,
  traits: { gapBudget: 64, batchInOrder: true },
  delivery: { window: 1_000, pool: undefined, batch: 1_000 },
}

/**
 * anvil keeps all transactions above a gap, and any number per account (`eth/pool/transactions.rs`; it
 * counted 12,000 with mining off). It accepts half as much again in four concurrent requests as in sequential
 * ones (measured on 1.7.1 with two cores).
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

/** The sizes observed before the client was known may be smaller than the client is known to accept. */
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

function sendSyncSeen({ profile, evidence }: ProfileState, observation: SendSyncObservation): ProfileState {
  const { sendSync, lost } = reduceSendSync({ ...profile, lost: evidence.syncLost }, observation)
  return { profile: { ...profile, sendSync }, evidence: { ...evidence, syncLost: lost } }
}

function batchSeen({ profile, evidence }: ProfileState, observation: BatchObservation): ProfileState {
  const reduced = reduceBatch({ batch: profile.batch, evidence: evidence.batch }, observation)
  return {
    profile: { ...profile, batch: reduced.batch },
    evidence: { ...evidence, batch: reduced.evidence },
  }
}
