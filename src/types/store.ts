import type { Address, Hash, Hex } from 'viem'
import type { TxlaneErrorCode } from '../errors/base.js'
import type { Fees } from '../ledger/fees.js'
import type { BlockRef, Slot } from '../ledger/slot.js'
import type { FeePreset, HoldReason, SendOptions, Stage, TxRequest, WaitReason } from './index.js'
import type { OutboxVerbs } from './outbox.js'

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
} & OwnNeeds

/** What the lane itself notes beside them. */
export type OwnNeeds = {
  /** What it `deploys`, and its `effect`, did not stand before its first bytes were sent. */
  readonly missing?: boolean | undefined
  /** The id of what goes before it in its sequence. */
  readonly follows?: string | undefined
}

/** A transaction as it is kept. */
export type StoredTransaction = {
  readonly id: string
  readonly lane: LaneKey
  /** Hash of from, to, data, value, access list and authorizations: the same id with another one is a conflict. */
  readonly fingerprint: Hash
  readonly request: TxRequest
  /** How often its id began anew after it ended: see `restart`. Missing for none. */
  readonly life?: number | undefined
  /** Order of arrival in the lane. */
  readonly sequence: number
  readonly priority: number
  readonly gas: bigint | undefined
  readonly feeCeiling: bigint | undefined
  /** How soon it is to be included, where it says so itself. */
  readonly feePreset?: FeePreset | undefined
  readonly expiresAtMs: number | undefined
  readonly onExpiry: 'cancel' | 'leave'
  /** The id of what it was to take the place of. Alone, it must not be sent beside it. */
  readonly replaces: string | undefined
  /** What it depends on, and what others that depend on it may look for. */
  readonly needs: StoredNeeds | undefined
  /** Its bytes are for `send` endpoints alone. */
  readonly private?: true | undefined
  /** Later ones wait until it has a nonce, or has ended. */
  readonly order?: 'strict' | undefined
  /** It does not wait for money that the account has not got. */
  readonly starved?: 'fail' | undefined
  /** Whose it is, as its caller named it. */
  readonly group?: string | undefined
  /** Any account of a pool may send it. The lanes that it was in before, by address. */
  readonly pooled?: readonly Address[] | undefined
  readonly stage: Stage
  readonly nonce: number | undefined
  readonly hash: Hash | undefined
  /** What it has waited for, for some seconds, as its holder noticed it: for other processes. */
  readonly waiting?: WaitReason | undefined
  /** What was signed of it, the oldest first; of many the newest. Missing where that is one, with its nonce and hash. */
  readonly attempts?: readonly StoredAttempt[] | undefined
  /** Of that one. Nearly all have no more, and each is written several times. */
  readonly fees?: Fees | undefined
  readonly signedAtMs?: number | undefined
  /** The sealed block that has it. */
  readonly block?: BlockRef | undefined
  readonly status: 'success' | 'reverted' | undefined
  /** `landed`: it executed, at `lossDepth`. `unresolved`: only an operator can tell whether it did. */
  readonly verdict?: 'landed' | 'unresolved' | undefined
  /** Why it ended without executing. */
  readonly failure: StoredFailure | undefined
  /** As its receipt says, once somebody asked for it. */
  readonly costs?: StoredCosts | undefined
  /** What it gave back when it reverted in its block, where somebody asked for its receipt and it could be found out. */
  readonly revertData?: Hex | undefined
  /** The id of the replacement that ended it. */
  readonly supersededBy?: string | undefined
  /** Times in milliseconds since the epoch, by the wall clock of whoever took it on, or works the lane. */
  readonly createdAtMs: number
  /** When its stage, hash or status changed last; missing where a former version wrote it. */
  readonly updatedAtMs?: number | undefined
  /** When its outcome was known. */
  readonly finishedAtMs?: number | undefined
}

/** Why a transaction ended without executing. */
export type StoredFailure = {
  readonly code: TxlaneErrorCode
  readonly message: string
  /** What a node, a signer or a store said of it. */
  readonly details?: string | undefined
  /** What the contract gave back when it reverted before it was sent. */
  readonly data?: Hex | undefined
}

/** What a transaction that executed has cost, in wei; `gasUsed` in units of gas. */
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
  /** When its bytes were journaled; missing where they were read back from a slot. */
  readonly signedAtMs?: number | undefined
}

/** What a lane was when it was last written. */
export type LaneState = {
  /** Unfinished and unsettled slots, with their attempts. */
  readonly slots: readonly Slot[]
  /** Transactions that have not ended, in the order of arrival. */
  readonly transactions: readonly StoredTransaction[]
  /** The highest cursor ever written; undefined or 0 for a lane that has handed out no nonce. */
  readonly cursor: number | undefined
  /** Where `arrivals` goes on from. */
  readonly arrived: number
}

/** One atomic write: all of it or nothing. */
export type LaneWrite = {
  /** Replace what is kept for their nonces; `final` and attempt-less `hole` slots are deleted. */
  readonly slots: readonly Slot[]
  /**
   * Replace what is kept for their ids, unless that is in another lane by now, or arrived later (`restart`). One that names another lane of the chain is handed to that lane, where it is
   * kept as queued here, and nothing is done where it is not: it arrives there as the last, with a sequence of that lane.
   * That may be done before the rest, and stays done where the rest fails.
   */
  readonly transactions: readonly StoredTransaction[]
  readonly cursor: number
  /** Wishes up to this one are done: they are deleted. */
  readonly wished?: number | undefined
}

/** Which transactions a page holds. */
export type ListOptions = {
  readonly stage?: Stage | undefined
  readonly group?: string | undefined
  /** Taken on at this time or later, by `createdAtMs`. */
  readonly createdAfterMs?: number | undefined
  /** Taken on before this time. */
  readonly createdBeforeMs?: number | undefined
  readonly limit: number
  /** What the page before gave back. */
  readonly cursor?: string | undefined
}

export type StoredPage = { readonly items: readonly StoredTransaction[]; readonly cursor?: string }

/** Names a chain: two local nodes share an id. */
export type ChainKey = Pick<LaneKey, 'chainId' | 'genesisHash'>

/** What became of one transaction that was to be kept. */
export type Enqueued = {
  /** Its id was not known. Otherwise nothing was written. */
  readonly fresh: boolean
  /** As it is kept, with its place in the order of arrival; where it is not fresh, what has been there before. */
  readonly transaction: StoredTransaction
}

/** What a caller in a process that does not hold the lane wants of a transaction. The holder does it. */
export type Wish =
  | { readonly kind: 'cancel' }
  /** It is not wanted any more, unless it is on its way already. */
  | { readonly kind: 'abort' }
  /** Fees that no pool would take as a replacement are raised to what one takes. */
  | { readonly kind: 'speedUp'; readonly fees?: Fees | undefined }
  /** The operator's word on an unresolved one. */
  | { readonly kind: 'resolve'; readonly fate: 'executed' | 'notExecuted' }

/** What came into a lane, from any process. */
export type LaneArrivals = {
  /** In the order of arrival: by `sequence`. */
  readonly transactions: readonly StoredTransaction[]
  /** In the order in which they were wished, by a sequence that they share with transactions. */
  readonly wishes: readonly { readonly sequence: number; readonly id: string; readonly wish: Wish }[]
}

/** What the holder of a lane says of it, for the other processes of its pool. Out of date as soon as it is read. */
export type LaneReport = {
  /** Why it hands out no nonce for now. */
  readonly holds: readonly HoldReason[]
  /** How many more it could send now; below 0 by how many wait. Missing where it is no lane of a pool. */
  readonly room?: number | undefined
  /** How many have a nonce that no sealed block is known to have used, or wait for one. */
  readonly load?: number | undefined
  /** What all of these may cost at most, in wei. Missing where too many wait for anything to be added. */
  readonly owedWei?: bigint | undefined
  /** Options of its process that have to be equal in all, by name: what is left out has its default. */
  readonly options?: Readonly<Record<string, string>> | undefined
}

export type ReportedLane = {
  readonly lane: LaneKey
  /** Some process has its lease, and the time of that has not run out. */
  readonly isHeld: boolean
  /** The last one of who had the lease last; undefined where that one has said nothing. */
  readonly report: LaneReport | undefined
}

/** A lane in which something is to be done still. */
export type UnfinishedLane = {
  readonly lane: LaneKey
  /** How many transactions have not ended and are in no sealed block. */
  readonly transactions: number
  /** As in `ReportedLane`. */
  readonly isHeld: boolean
}

/** What changed in a lane. */
export type LaneChanges = {
  /** Each once, as it is now, in the order of its last change. */
  readonly transactions: readonly StoredTransaction[]
  /** Where the next call goes on from. */
  readonly revision: number
}

/**
 * Where lanes live. Domain verbs only: no connection, row or SQL leaks. An implementation throws a `TxlaneError`
 * with code `STORE`; a write whose result cannot be known rejects with `details: 'unknown'`, and the lane is held
 * until it has been read again (row 5). A store whose
 * records were deleted or replaced under it rejects every verb with `details: 'replaced'`, and the lane is held. `storeContract` proves an implementation.
 *
 * Time is the store's own: how long a lease lasts is given as a length, and no two clocks are ever compared. Leases say
 * when another process may try. That only one leads is the fence's work: `write` and `load` compare holder and epoch, and
 * need no clock, so that a clock that steps can cost the lane a change of hands and never lets two processes write.
 */
export type Store = OutboxVerbs & {
  /** Its name, for people: `memory`, `sqlite`, `postgres`. */
  readonly kind: string
  /** Survives the process. Without it P2 to P5 hold within one process life. */
  readonly durable: boolean
  /**
   * The genesis hashes under which chains with this id are kept, the one kept first in front. A chain is kept from its
   * first lane on; where none with the id is kept yet, this call keeps the given one. Atomic: of several calls at once,
   * one keeps its own, and all read that. Without a genesis hash nothing is kept by it.
   */
  chains(chain: {
    readonly chainId: number
    readonly genesisHash?: Hash | undefined
  }): Promise<readonly Hash[]>
  /**
   * Takes the lane for `ttlMs`: with a new epoch, or again with the same one where `holder` has it. `undefined` while
   * the time of another holder has not run out. A lease that ends further ahead than any lease lasts counts as run out:
   * its clock was set back since. Atomic: of several that try at once, one has it.
   */
  acquire(lane: LaneKey, holder: string, ttlMs: number): Promise<Lease | undefined>
  /**
   * Every lease that `holder` has lasts `ttlMs` from now; one that has run out and that nobody took, too. Gives back
   * those that it has: what is missing was taken.
   */
  renew(holder: string, ttlMs: number): Promise<readonly Lease[]>
  /** Gives the lane back, so that the next holder need not wait. Does nothing where another has it. */
  release(lease: Lease): Promise<void>
  /**
   * Keeps what the holder of each lane says of it, in the place of what it said before. Of a lane that another holder has,
   * or had, since, nothing is kept, and nobody is told.
   */
  report(reports: readonly { readonly lease: Lease; readonly report: LaneReport }[]): Promise<void>
  /** What was said last of each of these lanes of one chain. A lane that nobody has used yet is left out. */
  reports(lanes: readonly LaneKey[]): Promise<readonly ReportedLane[]>
  /** The lanes of the chain that have transactions which are to be sent still, or are on their way. */
  unfinished(chain: ChainKey): Promise<readonly UnfinishedLane[]>
  /**
   * What the lane was when it was last written. Read by its holder alone.
   *
   * @throws `LEASE_LOST` where another has, or had, the lane since */
  load(lease: Lease): Promise<LaneState>
  /** Atomic, fenced: rejects with `LEASE_LOST`, and writes nothing, when the epoch has moved on. */
  write(lease: Lease, change: LaneWrite): Promise<void>
  /**
   * Keeps transactions of any lanes unless their ids are known on their chain; for each, in order, what is kept now.
   * Needs no lease. Atomic for each: of two calls with one id, at once, exactly one is fresh.
   */
  enqueue(transactions: readonly StoredTransaction[]): Promise<readonly Enqueued[]>
  /**
   * Takes the place of what is kept by its id where that is `ended` still, by its lane and sequence, and did not execute
   * (`failed`, `cancelled`): it arrives in its lane as the last, queued. Otherwise nothing is written. What it was is gone, and
   * so are wishes for it; its hashes lead to the new one. Needs no lease. Atomic: of several calls at once, one is fresh.
   */
  restart(transaction: StoredTransaction, ended: StoredTransaction): Promise<Enqueued>
  /** Leaves word for the holder. False where the id is not known, or its transaction has ended. */
  wish(chain: ChainKey, id: string, wish: Wish): Promise<boolean>
  /** For the holder: what arrived after a sequence, at most `limit` of each; nothing is missed by going on from the last. */
  arrivals(lane: LaneKey, after: number, limit: number): Promise<LaneArrivals>
  /**
   * For everybody else: what arrived or changed after a revision (0: all), at most `limit`; nothing is missed either.
   * `'now'`: nothing but where to go on from.
   */
  changes(lane: LaneKey, revision: number | 'now', limit: number): Promise<LaneChanges>
  /**
   * Calls back when something in the lane may have changed, until it is called off: a hint, and never a must. With the
   * newest sequence of the lane where the hint carries it.
   */
  watch(lane: LaneKey, changed: (sequence?: number) => void): () => void
  /** By its id or the hash of any attempt that was kept, in whatever lane of the chain it is; ended ones within retention. */
  find(chain: ChainKey, by: { id: string } | { hash: Hash }): Promise<StoredTransaction | undefined>
  /**
   * Of these lanes of one chain, or of every lane of the chain, in one order: newest first by `createdAtMs`, and what was taken on in the same
   * millisecond by its arrival, as it was before it was handed to another lane. What is there when the first page is read comes once
   * in all pages together, whatever arrives or changes meanwhile.
   *
   * @throws `INVALID` for a cursor that no page gave back
   */
  list(of: readonly LaneKey[] | ChainKey, options: ListOptions): Promise<StoredPage>
  /** Lets go of files and connections. A pool that was handed in stays open. */
  close(): Promise<void>
}

/** A chain's name as one string. */
export function chainName(chain: ChainKey): string {
  return `${chain.chainId}:${chain.genesisHash}`
}

/** A lane's name as one string: chain id, genesis and address. */
export function laneName(lane: LaneKey): string {
  return `${chainName(lane)}:${lane.address}`
}

/** A transaction's name among all of a store, as one string. */
export function transactionName(chain: ChainKey, id: string): string {
  return `${chainName(chain)}/${id}`
}

/** The lanes that these are in, each once. */
export function lanesOf(transactions: readonly Pick<StoredTransaction, 'lane'>[]): readonly LaneKey[] {
  return [...new Map(transactions.map(({ lane }) => [laneName(lane), lane])).values()]
}
