import type { Address, Hash } from 'viem'
import type { TxlaneErrorCode } from '../errors/base.js'
import type { Slot } from '../ledger/slot.js'
import type { SendOptions, Stage, TxRequest } from '../types.js'

/** Names a lane: chain id and genesis hash (two local nodes share an id), and the address in lower case. */
export type LaneKey = { readonly chainId: number; readonly genesisHash: Hash; readonly address: Address }

/** The right to write to a lane, until another holder takes it (P7). Every write is checked against it. */
export type Lease = {
  readonly lane: LaneKey
  /** Rises with each change of holder. */
  readonly epoch: number
  readonly holder: string
}

/** As the options of `send`, with ids in the place of transactions. */
export type StoredNeeds = Pick<SendOptions, 'afterStage' | 'afterStatus' | 'deploys' | 'effect'> & {
  readonly after?: readonly string[] | undefined
}

/** A transaction as it is kept. */
export type StoredTransaction = {
  readonly id: string
  readonly lane: LaneKey
  /** Hash of from, to, data, value, access list and authorizations: the same id with another one is a conflict. */
  readonly fingerprint: Hash
  readonly request: TxRequest
  /** Order of arrival in the lane. */
  readonly sequence: number
  readonly priority: number
  readonly gas: bigint | undefined
  readonly feeCeiling: bigint | undefined
  readonly expiresAtMs: number | undefined
  readonly onExpiry: 'cancel' | 'leave'
  /** The id of what it was to take the place of. Alone, it must not be sent beside it. */
  readonly replaces: string | undefined
  /** What has to be on the chain before it is prepared. */
  readonly needs: StoredNeeds | undefined
  readonly stage: Stage
  readonly nonce: number | undefined
  readonly hash: Hash | undefined
  readonly status: 'success' | 'reverted' | undefined
  /** Why it ended without executing. */
  readonly failure: { readonly code: TxlaneErrorCode; readonly message: string } | undefined
  readonly createdAtMs: number
}

/** What a lane was when it was last written. */
export type LaneState = {
  /** Unfinished and unsettled slots, with their attempts. */
  readonly slots: readonly Slot[]
  /** Transactions that have not ended. */
  readonly transactions: readonly StoredTransaction[]
  /** The highest cursor ever written; undefined for a lane without records. */
  readonly cursor: number | undefined
}

/** One atomic write: all of it or nothing. */
export type LaneWrite = {
  /** Replace what is kept for their nonces; `final` and attempt-less `hole` slots are deleted. */
  readonly slots: readonly Slot[]
  /** Replace what is kept for their ids. */
  readonly transactions: readonly StoredTransaction[]
  readonly cursor: number
}

export type StoredPage = { readonly items: readonly StoredTransaction[]; readonly cursor?: string }

/**
 * Where lanes live. Domain verbs only: no connection, row or SQL leaks. An implementation throws a `TxlaneError`
 * with code `STORE`; a write whose result cannot be known rejects with `details: 'unknown'`, and the lane is held
 * until it has been read again (row 5).
 */
export type Store = {
  readonly kind: string
  /** Survives the process. Without it P2 to P5 hold within one process life. */
  readonly durable: boolean
  /** Takes the lane: a new epoch, unless `holder` has it already. Rejects with LEASE_LOST while another has it. */
  acquire(lane: LaneKey, holder: string): Promise<Lease>
  /** Gives the lane back, so that the next holder need not wait for the lease to run out. */
  release(lease: Lease): Promise<void>
  load(lease: Lease): Promise<LaneState>
  /**
   * Keeps a transaction unless its id is known on this chain; then gives back the one that is kept. Atomic: of two
   * calls with one id, at once, exactly one gets `undefined`.
   */
  enqueue(transaction: StoredTransaction): Promise<StoredTransaction | undefined>
  /** Atomic, fenced by the lease: rejects with LEASE_LOST, and writes nothing, when the epoch has moved on. */
  write(lease: Lease, change: LaneWrite): Promise<void>
  find(
    chain: { chainId: number; genesisHash: Hash },
    by: { id: string } | { hash: Hash },
  ): Promise<StoredTransaction | undefined>
  /** Newest first. `cursor` is what the page before gave back. */
  list(
    lane: LaneKey,
    options: { stage?: Stage | undefined; limit: number; cursor?: string | undefined },
  ): Promise<StoredPage>
  close(): Promise<void>
}

/** A lane's name as one string: chain id, genesis and address. */
export function laneName(lane: LaneKey): string {
  return `${lane.chainId}:${lane.genesisHash}:${lane.address}`
}
