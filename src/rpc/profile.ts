import type { Hex } from 'viem'
import { type Evidence, noEvidence, type ProfileObservation, reduceProfile } from './profileRules.js'

export type { ProfileObservation } from './profileRules.js'

/**
 * What the endpoint's `pending` shows. `mempool`: the count includes pooled transactions. `preconfirmed`: it
 * includes those in the block being built, and no others. `latest`: the same as `latest`. `absent`: the tag is
 * refused or answers nothing. `unknown`: not seen yet; to be treated as not `mempool`.
 */
export type PendingSemantics = 'mempool' | 'preconfirmed' | 'latest' | 'absent' | 'unknown'

/** What one RPC endpoint really does, as far as it has been seen. `undefined`: not seen yet. */
export type EndpointProfile = {
  readonly pending: PendingSemantics
  /** Storage and code at `pending` show what the pending block changed. */
  readonly pendingState: boolean | undefined
  /** `eth_getBlockReceipts` is answered. */
  readonly blockReceipts: boolean | undefined
  readonly batch: {
    readonly usable: boolean | undefined
    /** The largest batch known to be taken, or worth trying after a larger one was refused. */
    readonly sizeMax: number | undefined
  }
  /**
   * How many transactions of one account it keeps above a missing nonce. geth: 64. 0: it refuses them, so that each is
   * sent after the one below it was taken; learned from two such refusals.
   */
  readonly gapBudget: number | undefined
  /** The calls of a batch take effect in their order. `false`: one transaction goes in a request. */
  readonly batchInOrder: boolean | undefined
  /**
   * What deliveries to it have shown, with which the next lane begins: nonces that may be unacknowledged (`window`) or at
   * the endpoint without being sealed (`pool`), and calls in one request (`batch`).
   */
  readonly delivery: {
    readonly window: number | undefined
    readonly pool: number | undefined
    readonly batch: number | undefined
  }
  /** What it says that it is, as `web3_clientVersion`: its first 200 characters. */
  readonly client: string | undefined
  /** `eth_sendRawTransactionSync` is answered. */
  readonly sendSync: boolean | undefined
  /** `eth_simulateV1` is answered. */
  readonly simulateV1: boolean | undefined
  /** Milliseconds between two refreshes of the pending block. */
  readonly cadenceMs: number | undefined
  /** One sequencer orders all transactions of this chain. Declared, never probed. */
  readonly singleSequencer: boolean | undefined
  readonly chainId: number | undefined
  /** `undefined` too where the node does not show block 0. */
  readonly genesisHash: Hex | undefined
}

/** The fields that a user may give: these are never changed by what is observed. */
export type GivenProfile = { readonly [key in keyof EndpointProfile]?: EndpointProfile[key] | undefined }

export type ProfileChange = { readonly before: EndpointProfile; readonly now: EndpointProfile }

/** An endpoint's profile and how it is learnt. */
export type ProfileWatch = {
  current(): EndpointProfile
  /** Takes in something that was seen. What contradicts the profile sends that part of it back to unknown. */
  observe(observation: ProfileObservation): void
  /** Calls `listener` after each change. Returns what ends it. */
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
  cadenceMs: undefined,
  singleSequencer: undefined,
  chainId: undefined,
  genesisHash: undefined,
}

/** A profile that knows what was given and nothing else. */
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
