import type { Port } from './port.js'
import { type Evidence, noEvidence, type ProfileObservation, reduceProfile } from './profileRules.js'

/**
 * The semantics of the endpoint's `pending` tag. `mempool`: the count includes pooled transactions.
 * `preconfirmed`: it includes the transactions of the block being built, and no others. `latest`: the same as
 * `latest`. `absent`: the tag is refused or has no answer. `unknown`: not observed yet; to be treated as not
 * `mempool`.
 */
type PendingSemantics = 'mempool' | 'preconfirmed' | 'latest' | 'absent' | 'unknown'

/** The actual behaviour of one RPC endpoint, as observed. `undefined`: not observed yet. */
export type EndpointProfile = {
  readonly pending: PendingSemantics
  /**
   * Plain reads of storage and code at `pending` show the changes of the pending block. If `false`, they are
   * read by `eth_call`, whose state at `pending` may show them.
   */
  readonly pendingState: boolean | undefined
  /** The endpoint supports `eth_getBlockReceipts`. */
  readonly blockReceipts: boolean | undefined
  readonly batch: {
    readonly usable: boolean | undefined
    /** The largest batch known to be accepted, or worth trying after a larger one was refused. */
    readonly sizeMax: number | undefined
  }
  /**
   * Number of transactions of one account that the endpoint keeps above a missing nonce. geth: 64. 0 means
   * that it refuses them, so that each is sent only after its predecessor was accepted; learned from two such
   * refusals.
   */
  readonly gapBudget: number | undefined
  /** The calls of a batch take effect in order. If `false`, each request carries one transaction. */
  readonly batchInOrder: boolean | undefined
  /**
   * Results of earlier deliveries, with which the next lane starts: maximum nonces that may be unacknowledged
   * (`window`) or at the endpoint without being sealed (`pool`), and calls in one request (`batch`).
   */
  readonly delivery: {
    readonly window: number | undefined
    readonly pool: number | undefined
    readonly batch: number | undefined
  }
  /** The answer to `web3_clientVersion`: its first 200 characters. */
  readonly client: string | undefined
  /**
   * The endpoint supports `eth_sendRawTransactionSync` (EIP-7966). `withoutTimeout`: it takes no timeout as the
   * second parameter. Observed when a caller first waits for a receipt, and again by each such send.
   */
  readonly sendSync: boolean | 'withoutTimeout' | undefined
  /** The endpoint supports `eth_simulateV1`. */
  readonly simulateV1: boolean | undefined
  /**
   * One sequencer orders all transactions of this chain, so that it has no public pool. Declared by the
   * definition of the chain, never probed.
   */
  readonly singleSequencer: boolean | undefined
}

/** The fields that a user may set. Observations never change them. */
export type GivenProfile = { readonly [key in keyof EndpointProfile]?: EndpointProfile[key] | undefined }

type ProfileChange = { readonly before: EndpointProfile; readonly now: EndpointProfile }

/** An endpoint's profile, and the functions that update and watch it. */
export type ProfileWatch = {
  current(): EndpointProfile
  /** Applies an observation. If it contradicts a part of the profile, that part becomes unknown again. */
  observe(observation: ProfileObservation): void
  /** Calls `listener` after each change. Returns a function that removes the listener. */
  onChange(listener: (change: ProfileChange) => void): () => void
}

const UNKNOWN: EndpointProfile = {
  pending: 'unknown',
  pendingState: undefined,
  blockReceipts: undefined,
  batch: { usable: undefined, sizeMax: undefined },
  gapBudget: undefined,
  batchInOrder: undefined,
  delivery: { window: undefined, pool: undefined, batch: undefined },
  client: undefined,
  sendSync: undefined,
  simulateV1: undefined,
  singleSequencer: undefined,
}

/** Creates a profile that contains only the given fields. */
export function createProfile(given: GivenProfile = {}): ProfileWatch {
  const fixed = definedOf(given)
  const listeners = new Set<(change: ProfileChange) => void>()
  let profile: EndpointProfile = { ...UNKNOWN, ...fixed }
  let evidence: Evidence = noEvidence

  return {
    current: () => profile,
    observe(observation) {
      const before = profile
      const reduced = reduceProfile({ profile, evidence }, observation)
      evidence = reduced.evidence
      if (reduced.profile === before) return
      const now = { ...reduced.profile, ...fixed }
      if (same(before, now)) return
      profile = now
      for (const listener of [...listeners]) listener({ before, now })
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function definedOf(given: GivenProfile): Partial<EndpointProfile> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function same(a: EndpointProfile, b: EndpointProfile): boolean {
  const keys = Object.keys(UNKNOWN) as (keyof EndpointProfile)[]
  return keys.every((key) => {
    const [one, other]: readonly unknown[] = [a[key], b[key]]
    return isObject(one) && isObject(other) ? sameFields(one, other) : one === other
  })
}

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null

function sameFields(one: Fields, other: Fields): boolean {
  return Object.keys({ ...one, ...other }).every((key) => one[key] === other[key])
}

const profiles = new WeakMap<Port, ProfileWatch>()

/** The profile of a port, shared by all users of the port and created on first use. */
export function profileOf(port: Port): ProfileWatch {
  let profile = profiles.get(port)
  if (profile === undefined) {
    profile = createProfile()
    profiles.set(port, profile)
  }
  return profile
}

/** Replaces the profile of a port, for example by one with fields set by the user. */
export function setProfile(port: Port, profile: ProfileWatch): void {
  profiles.set(port, profile)
}
