import type { Address, Hash, Hex } from 'viem'
import type { TxlaneErrorCode } from '../errors/base.js'
import type { Fees } from '../ledger/fees.js'
import type { BlockRef, Slot } from '../ledger/slot.js'
import type { FeePreset, SendOptions, Stage, TxRequest, WaitReason } from './index.js'
import type { LaneReport, ReportedLane, StoredCounter } from './laneReports.js'
import type { OutboxVerbs } from './outbox.js'

/**
 * Identifies a lane: chain id and genesis hash (two local nodes may share an id), and the address in lower
 * case.
 */
export type LaneKey = { readonly chainId: number; readonly genesisHash: Hash; readonly address: Address }

/** The right to write to a lane, until another process takes it (P7). Every write is checked against it. */
export type Lease = {
  readonly lane: LaneKey
  /** Increased with each change of owner. */
  readonly epoch: number
  readonly holder: string
}

/** As the options of `send`, with ids instead of transactions. */
export type StoredNeeds = Pick<SendOptions, 'afterStage' | 'afterStatus' | 'deploys' | 'effect'> & {
  readonly after?: readonly string[] | undefined
} & OwnNeeds

/** Notes of the lane itself beside these options. */
export type OwnNeeds = {
  /** True if the code that it `deploys`, or its `effect`, was missing before its first bytes were sent. */
  readonly missing?: boolean | undefined
  /** The id of its predecessor in its sequence. */
  readonly follows?: string | undefined
}

/** A transaction as it is stored. */
export type StoredTransaction = {
  readonly id: string
  readonly lane: LaneKey
  /**
   * Hash of from, to, data, value, access list and authorizations. The same id with another fingerprint is a
   * conflict.
   */
  readonly fingerprint: Hash
  readonly request: TxRequest
  /** The number of restarts of its id after it ended: see `restart`. Missing for none. */
  readonly life?: number | undefined
  /** The position in the order of arrival in the lane. */
  readonly sequence: number
  readonly priority: number
  readonly gas: bigint | undefined
  readonly feeCeiling: bigint | undefined
  /** The fee preset of this transaction, if it has its own. */
  readonly feePreset?: FeePreset | undefined
  readonly expiresAtMs: number | undefined
  readonly onExpiry: 'cancel' | 'leave'
  /** The id of the transaction that it replaces. It must not be sent beside that one. */
  readonly replaces: string | undefined
  /** The dependencies of the transaction, and the effects that its dependents may look for. */
  readonly needs: StoredNeeds | undefined
  /** The bytes of the transaction go only to `send` endpoints. */
  readonly private?: true | undefined
  /** Later transactions wait until it has a nonce or has ended. */
  readonly order?: 'strict' | undefined
  /** The transaction does not wait for funds. */
  readonly starved?: 'fail' | undefined
  /** The group that its caller named. */
  readonly group?: string | undefined
  /** Any account of a pool may send it. The addresses of its former lanes. */
  readonly pooled?: readonly Address[] | undefined
  readonly stage: Stage
  readonly nonce: number | undefined
  readonly hash: Hash | undefined
  /**
   * The reason why it has been waiting for some seconds, as the lease owner noticed it; for other processes.
   */
  readonly waiting?: WaitReason | undefined
  /**
   * The signed attempts, oldest first; only the newest are kept. Missing if there is one, with the
   * transaction's nonce and hash.
   */
  readonly attempts?: readonly StoredAttempt[] | undefined
  /**
   * The fees of that single attempt. Nearly all transactions have no more, and each is written several times.
   */
  readonly fees?: Fees | undefined
  readonly signedAtMs?: number | undefined
  /** The sealed block that contains it. */
  readonly block?: BlockRef | undefined
  readonly status: 'success' | 'reverted' | undefined
  /** `landed`: it executed, at `lossDepth`. `unresolved`: only an operator can decide whether it did. */
  readonly verdict?: 'landed' | 'unresolved' | undefined
  /** The reason why it ended without execution. */
  readonly failure: StoredFailure | undefined
  /** The cost by its receipt, if a caller asked for the receipt. */
  readonly costs?: StoredCosts | undefined
  /**
   * The bytes that it returned when it reverted in its block, if a caller asked for its receipt and they
   * could be determined.
   */
  readonly revertData?: Hex | undefined
  /** The id of the replacement that ended it. */
  readonly supersededBy?: string | undefined
  /** Creation time in milliseconds since the epoch, by the wall clock of the process that accepted it. */
  readonly createdAtMs: number
  /**
   * The time of the last change of its stage, hash or status, by the wall clock of the lease owner; missing
   * if a former version wrote the record.
   */
  readonly updatedAtMs?: number | undefined
  /** The time at which its outcome became certain. */
  readonly finishedAtMs?: number | undefined
}

/** The reason why a transaction ended without execution. */
export type StoredFailure = {
  readonly code: TxlaneErrorCode
  readonly message: string
  /** The words of a node, a signer or a store. */
  readonly details?: string | undefined
  /** The bytes that the contract returned when it reverted before it was sent. */
  readonly data?: Hex | undefined
}

/** The cost of an executed transaction, in wei; `gasUsed` in units of gas. */
export type StoredCosts = {
  readonly gasUsed: bigint
  readonly effectiveGasPrice: bigint
  readonly l1Fee?: bigint | undefined
  readonly totalFee: bigint
}

/** One signed envelope of a transaction, without its bytes. */
export type StoredAttempt = {
  readonly nonce: number
  readonly hash: Hash
  readonly fees: Fees
  /** The time at which its bytes were journaled; missing if the attempt was read back from a slot. */
  readonly signedAtMs?: number | undefined
}

/** The state of a lane at its last write. */
export type LaneState = {
  /** Unfinished and unsettled slots, with their attempts. */
  readonly slots: readonly Slot[]
  /** Transactions that have not ended, in the order of arrival. */
  readonly transactions: readonly StoredTransaction[]
  /** The highest cursor ever written; undefined or 0 for a lane that has assigned no nonce. */
  readonly cursor: number | undefined
  /** The sequence from which `arrivals` continues. */
  readonly arrived: number
}

/** One atomic write. */
export type LaneWrite = {
  /**
   * Replace the stored slots of their nonces. Slots that are `final`, and `hole` slots without attempts, are
   * deleted.
   */
  readonly slots: readonly Slot[]
  /**
   * Replace the stored transactions with their ids, unless these are in another lane by now, or arrived later
   * (`restart`). A transaction that names another lane of the chain is handed off to that lane if it is
   * stored as queued here, and ignored otherwise. It arrives there as the last one, with a sequence of that
   * lane. The hand-off may happen before the rest of the write, and remains if the rest fails.
   */
  readonly transactions: readonly StoredTransaction[]
  readonly cursor: number
  /** Commands up to this sequence are done and are deleted. */
  readonly commandsDoneUpTo?: number | undefined
}

/** The filters of a page. */
export type ListOptions = {
  readonly stage?: Stage | undefined
  readonly group?: string | undefined
  /** Created at this time or later, by `createdAtMs`. */
  readonly createdAfterMs?: number | undefined
  /** Created before this time. */
  readonly createdBeforeMs?: number | undefined
  readonly limit: number
  /** The cursor of the previous page. */
  readonly cursor?: string | undefined
}

export type StoredPage = { readonly items: readonly StoredTransaction[]; readonly cursor?: string }

/** Identifies a chain: two local nodes may share an id. */
export type ChainKey = Pick<LaneKey, 'chainId' | 'genesisHash'>

/** The result for one transaction that was to be stored. */
export type Enqueued = {
  /** True if its id was not known. Otherwise nothing was written. */
  readonly fresh: boolean
  /**
   * The stored transaction, with its position in the order of arrival; the existing one if it is not fresh.
   */
  readonly transaction: StoredTransaction
}

/** A command of a caller in a process that does not own the lease. The lease owner executes it. */
export type LaneCommand =
  | { readonly kind: 'cancel' }
  /** The transaction is no longer wanted, unless it is already in flight. */
  | { readonly kind: 'abort' }
  /** Fees below the minimum that a node pool accepts as a replacement are raised to that minimum. */
  | { readonly kind: 'speedUp'; readonly fees?: Fees | undefined }
  /** The operator's decision on an unresolved transaction. */
  | { readonly kind: 'resolve'; readonly fate: 'executed' | 'notExecuted' }

/** Entries that arrived in a lane, from any process. */
export type LaneArrivals = {
  /** The transactions in the order of arrival: by `sequence`. */
  readonly transactions: readonly StoredTransaction[]
  /** The commands in the order in which they were posted, by a sequence that they share with transactions. */
  readonly commands: readonly {
    readonly sequence: number
    readonly id: string
    readonly command: LaneCommand
  }[]
}

/** A lane with unfinished work. */
export type UnfinishedLane = {
  readonly lane: LaneKey
  /** The number of transactions that have not ended and are in no sealed block. */
  readonly transactions: number
  /** As in `ReportedLane`. */
  readonly isHeld: boolean
}

/** The changes in a lane. */
export type LaneChanges = {
  /** Each changed transaction once, in its current state, in the order of the last change. */
  readonly transactions: readonly StoredTransaction[]
  /** The revision from which the next call continues. */
  readonly revision: number
}

/**
 * The storage of lanes. It has domain methods only; no connection, row or SQL is visible. An implementation
 * throws a `TxlaneError` with code `STORE`. A write with an unknown result rejects with `details: 'unknown'`,
 * and the lane is held until it has been read again (row 5). A store whose records were deleted or replaced
 * while it was open rejects every method with `details: 'replaced'`, and the lane is held. `storeContract`
 * tests an implementation.
 *
 * The store uses its own clock: the length of a lease is given as a duration, and two clocks are never
 * compared. A lease only says when another process may try to take it. The fence ensures that only one
 * process leads: `write` and `load` compare owner and epoch, and need no clock. So a clock that steps can
 * cost the lane a change of owner, but never lets two processes write.
 */
export type Store = OutboxVerbs & {
  /** The name of the store, for humans: `memory`, `sqlite`, `postgres`. */
  readonly kind: string
  /** True if it survives the process. Otherwise P2 to P5 hold until the process ends. */
  readonly durable: boolean
  /**
   * The genesis hashes under which chains with this id are stored, the first stored one first. A chain is
   * stored with its first lane. If no chain with this id is stored yet, this call stores the given one.
   * Atomic: of several concurrent calls one stores its own, and all return that one. Without a genesis hash
   * the call stores nothing.
   */
  chains(chain: {
    readonly chainId: number
    readonly genesisHash?: Hash | undefined
  }): Promise<readonly Hash[]>
  /**
   * Takes the lane's lease for `ttlMs`: with a new epoch, or again with the same one if `holder` owns it.
   * Resolves with `undefined` while another owner's lease lasts. A lease that ends further in the future than
   * any lease lasts counts as expired: its clock was set back since. Atomic: of several concurrent attempts
   * exactly one succeeds.
   */
  acquire(lane: LaneKey, holder: string, ttlMs: number): Promise<Lease | undefined>
  /**
   * Extends every lease of `holder` to `ttlMs` from now, including one that has expired and that no other
   * process took. Resolves with the leases that it still owns; a missing one was taken.
   */
  renew(holder: string, ttlMs: number): Promise<readonly Lease[]>
  /** Releases the lease, so that the next owner need not wait. Has no effect if another process owns it. */
  release(lease: Lease): Promise<void>
  /**
   * Stores the report of each lane's owner, and replaces its former report. A report for a lane that another
   * process owns, or has owned since, is ignored without an error.
   */
  report(reports: readonly { readonly lease: Lease; readonly report: LaneReport }[]): Promise<void>
  /** The last report of each of these lanes of one chain. A lane that was never used is left out. */
  reports(lanes: readonly LaneKey[]): Promise<readonly ReportedLane[]>
  /** The lanes of the chain with transactions that are queued or in flight. */
  unfinished(chain: ChainKey): Promise<readonly UnfinishedLane[]>
  /**
   * The counters in contracts of this chain, of any epoch: a lane whose owner ever reported its counter. Without the
   * lease, so they are out of date as soon as they are read.
   */
  counters(chain: ChainKey): Promise<readonly StoredCounter[]>
  /**
   * The state of the lane at its last write. Read only by its owner.
   *
   * @throws `LEASE_LOST` if another process owns the lane, or has owned it since
   */
  load(lease: Lease): Promise<LaneState>
  /** Atomic and fenced: rejects with `LEASE_LOST`, and writes nothing, if the epoch has moved on. */
  write(lease: Lease, change: LaneWrite): Promise<void>
  /**
   * Stores transactions of any lanes unless their ids are known on their chain. Resolves with the stored
   * transaction for each, in order. Needs no lease. Atomic for each transaction: of two concurrent calls with
   * one id exactly one is fresh.
   */
  enqueue(transactions: readonly StoredTransaction[]): Promise<readonly Enqueued[]>
  /**
   * Replaces the stored transaction with its id if that is still `ended`, by its lane and sequence, and did
   * not execute (`failed`, `cancelled`). The new one arrives in its lane as the last one, queued. Otherwise
   * nothing is written. The old record and the commands for it are deleted; its hashes lead to the new one.
   * Needs no lease. Atomic: of several concurrent calls exactly one is fresh.
   */
  restart(transaction: StoredTransaction, ended: StoredTransaction): Promise<Enqueued>
  /**
   * Leaves a command for the lease owner. Resolves with false if the id is not known, or its transaction has
   * ended.
   */
  postCommand(chain: ChainKey, id: string, command: LaneCommand): Promise<boolean>
  /**
   * For the lease owner: entries that arrived after a sequence, at most `limit` of each kind. A reader that
   * continues from the last one misses nothing.
   */
  arrivals(lane: LaneKey, after: number, limit: number): Promise<LaneArrivals>
  /**
   * For all other processes: entries that arrived or changed after a revision (0: all), at most `limit`. A
   * reader that continues from the returned revision misses nothing. `'now'`: only the revision from which to
   * continue.
   */
  changes(lane: LaneKey, revision: number | 'now', limit: number): Promise<LaneChanges>
  /**
   * Calls back when a change in the lane is possible, until the returned function is called. This is only a
   * hint, and may be missed. It passes the newest sequence of the lane if the hint contains it.
   */
  watch(lane: LaneKey, changed: (sequence?: number) => void): () => void
  /**
   * Finds a transaction by its id or the hash of any stored attempt, in any lane of the chain; ended ones
   * within retention.
   */
  find(chain: ChainKey, by: { id: string } | { hash: Hash }): Promise<StoredTransaction | undefined>
  /**
   * The transactions of these lanes of one chain, or of every lane of the chain, in one order: newest first
   * by `createdAtMs`, then by arrival in the first lane. Each transaction that exists when the first page is
   * read appears once over all pages, whatever arrives or changes meanwhile.
   *
   * @throws `INVALID` for a cursor that no page returned
   */
  list(of: readonly LaneKey[] | ChainKey, options: ListOptions): Promise<StoredPage>
  /** Closes files and connections. A pool given by the caller stays open. */
  close(): Promise<void>
}

/** The key of a chain as one string. */
export function chainName(chain: ChainKey): string {
  return `${chain.chainId}:${chain.genesisHash}`
}

/** The key of a lane as one string: chain id, genesis hash and address. */
export function laneName(lane: LaneKey): string {
  return `${chainName(lane)}:${lane.address}`
}

/** The key of a transaction within a store as one string. */
export function transactionName(chain: ChainKey, id: string): string {
  return `${chainName(chain)}/${id}`
}

/** The lanes of these transactions, each once. */
export function lanesOf(transactions: readonly Pick<StoredTransaction, 'lane'>[]): readonly LaneKey[] {
  return [...new Map(transactions.map(({ lane }) => [laneName(lane), lane])).values()]
}
