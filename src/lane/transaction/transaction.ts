import type { Address, Hash, Hex } from 'viem'
import type { MissingReceipt } from '../../chain/endpoints/receipts.js'
import type { ErrorTx, Fate, TxlaneError, TxlaneErrorCode } from '../../errors/base.js'
import type { Fees } from '../../ledger/fees.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { FeePreset, Landed, SendOptions, Stage, Tx, TxRequest, WaitReason } from '../../types/index.js'
import type { LaneKey, OwnNeeds, StoredAttempt, StoredCosts } from '../../types/store.js'
import { errorTxOf, ORDER } from '../../validate/stageOrder.js'
import type { AboveCeiling } from './dear.js'
import type { GivenUp } from './givenUp.js'
import { rejectWaiters, tellReached, type Waiter } from './waiters.js'

const rank = new Map<Stage, number>(ORDER.map((stage, index) => [stage, index]))

/**
 * The dependencies of a transaction, and the effects that its dependents may look for (`deploys`, `effect`).
 */
export type Needs = Pick<SendOptions, 'after' | 'afterStage' | 'afterStatus' | 'deploys' | 'effect'> &
  OwnNeeds

/** The engine's state of one transaction. It is the same object for the transaction's whole life. */
export type Transaction = {
  readonly id: string
  readonly lane: LaneKey
  readonly request: TxRequest
  readonly fingerprint: Hash
  sequence: number
  readonly priority: number
  readonly feeCeiling: bigint | undefined
  readonly feePreset?: FeePreset | undefined
  readonly createdAtMs: number
  readonly expiresAtMs: number | undefined
  readonly onExpiry: 'cancel' | 'leave'
  /** Only `send` endpoints may receive it. */
  readonly private?: true | undefined
  /** Later transactions wait until it has a nonce, or has ended. */
  readonly order?: 'strict' | undefined
  /** It fails instead of waiting for missing funds. */
  readonly starved?: 'fail' | undefined
  /** The group of the transaction. Groups share a lane by their weights. */
  readonly group?: string | undefined
  /** Any account of a pool may send it. The addresses of the lanes that it was in before. */
  readonly pooled?: readonly Address[] | undefined
  gas: bigint | undefined
  stage: Stage
  /** The stage in the store. */
  persistedStage: Stage
  nonce: number | undefined
  hash: Hash | undefined
  /** The signed attempts, oldest first; see `ATTEMPTS_MAX`. */
  attempts: readonly StoredAttempt[]
  /** The time of the last change of its stage, hash or status. */
  updatedAtMs: number | undefined
  /** The time at which its outcome became known. */
  finishedAtMs: number | undefined
  /** The sealed block in which it was last seen. */
  block: BlockRef | undefined
  /**
   * The sealed block in the stored record. This process has not walked it, and it may have left the chain.
   */
  persistedBlock?: BlockRef | undefined
  status: 'success' | 'reverted' | undefined
  /** From its receipt, once a caller has requested it. */
  costs: StoredCosts | undefined
  /** The revert data of its execution, if it could be determined. */
  revertData?: Hex | undefined
  failure?: TxlaneError | undefined
  stageBeforeEnd?: Stage | undefined
  /** The end is in the store. Before that no caller may be notified, because a crash would undo it (P5). */
  endPersisted: boolean
  /** The name of an endpoint, and its last message instead of an acceptance. */
  refusal?: string | undefined
  /** The node requires more than its ceiling. */
  aboveCeiling?: AboveCeiling | undefined
  /** The reason why the lane used its nonce for a no-op. */
  givenUp?: GivenUp
  /** The stored reason of a long wait: see `isTimely`. */
  waiting?: WaitReason | undefined
  /** A caller waits for its receipt, which no endpoint has shown. */
  missingReceipt?: MissingReceipt | undefined
  /** The landed receipt, once a caller has requested it. */
  landed: Landed | undefined
  unresolved?: true | undefined
  waiters: Waiter[] | undefined
  cancelTimers?: CancelTimer | undefined
  /** Removes the listener from the caller's signal. */
  detachSignal?: (() => void) | undefined
  /** Pending while the store has not answered. The id may already exist there, from an earlier send. */
  enqueuing: Promise<unknown> | undefined
  /** Another process may wait for it, so each of its stages is written to the store. */
  watchedRemotely: boolean
  needs: Needs | undefined
  /** The transaction whose nonce it takes over. */
  replaces: Transaction | undefined
  /** The id of that transaction, which the store may have pruned. */
  readonly replacesId: string | undefined
  /** The id of the replacement that ended it. */
  supersededBy?: string | undefined
  /** Prepared: it may get a nonce as soon as it is the first in the queue. */
  ready: boolean
  /** Fees that its caller named for a bump. Its ceilings are above them, as above those in the request. */
  callerBumpFees?: Fees
  /** Number of times that its id was reused after an end. */
  life?: number | undefined
  /** Its caller wants to reuse the id if it ended before. The store has not answered yet. */
  again?: true | undefined
  /** A bump that its caller requested and that was not made yet, with the named fees. */
  requestedBump?: { readonly fees: Fees | undefined } | undefined
  /** The reason why the claim was withdrawn from its nonce, until the table has ended it. */
  withdrawError?: TxlaneError | undefined
  /** Bytes of it were journaled at a nonce that another transaction used. */
  previouslySigned?: true | undefined
  /**
   * Number of consecutive failures of its signer after earlier bytes were sent. It is not signed again before
   * this time.
   */
  signerPause?: { readonly failures: number; readonly untilMs: number } | undefined
  /** It landed, at `lossDepth`. */
  settled: boolean
  /** Called once it is certain whether it executed. */
  cancelWaiters?: (() => void)[] | undefined
  /** The public handle. */
  handle: Tx | undefined
  /** The intake that works on it in this process, by identity. */
  owner: object | undefined
}

/** The stage that callers may see. A crash can undo an end that is not in the store yet (P5). */
export function publicStage({ stage, failure, endPersisted, stageBeforeEnd }: Transaction): Stage {
  return failure && !endPersisted ? (stageBeforeEnd ?? stage) : stage
}

/** True if the transaction has reached the stage, or a later one on the way to execution. */
export function hasReached(transaction: Pick<Transaction, 'stage'>, stage: Stage): boolean {
  const now = rank.get(transaction.stage)
  const wanted = rank.get(stage)
  return now !== undefined && wanted !== undefined && now >= wanted
}

/** It ended without execution. */
export function hasFailed(transaction: Transaction): boolean {
  return transaction.failure !== undefined
}

/**
 * Whether it executed, as far as that is known. A crash can undo an end that is not in the store yet (P5).
 */
export function fateOf(transaction: Transaction): Fate {
  if (hasReached(transaction, 'sealed')) return 'executed'
  return transaction.endPersisted ? (transaction.failure?.fate ?? 'notExecuted') : 'inFlight'
}

/** For the times in a record. */
export type WallClock = Pick<Clock, 'wallNow'>

/** Its stage, hash or status has changed. */
export function touched(transaction: Transaction, clock: WallClock): void {
  transaction.updatedAtMs = clock.wallNow()
}

/** Its outcome is known, if it was not before. */
export function finished(transaction: Transaction, clock: WallClock): void {
  transaction.finishedAtMs ??= clock.wallNow()
}

/** Moves to a stage and notifies the waiters for it. A reorg may move it back. */
export function moveTo(transaction: Transaction, stage: Stage, clock: WallClock): void {
  if (transaction.stage !== stage) touched(transaction, clock)
  transaction.stage = stage
  wake(transaction)
}

/** Notifies the waiters for the stages that it has reached. */
export function wake(transaction: Transaction): void {
  tellReached(transaction, (wanted) => hasReached(transaction, wanted))
}

/** Ends it without execution. `settleEnd` notifies the waiters once the end is in the store. */
export function end(transaction: Transaction, error: TxlaneError, clock: WallClock): void {
  if (hasFailed(transaction)) return
  const stage = endStage(error.code)
  transaction.failure = error
  transaction.stageBeforeEnd = transaction.stage
  transaction.stage = stage
  touched(transaction, clock)
  finished(transaction, clock)
  // The error was created before the end, so its description of the transaction is updated.
  Object.assign(error, { tx: { ...describe(transaction), stage } })
  disarm(transaction)
}

/** The stage for the error with which a transaction ended. */
export function endStage(code: TxlaneErrorCode): 'failed' | 'cancelled' | 'superseded' {
  if (code === 'CANCELLED') return 'cancelled'
  return code === 'SUPERSEDED' ? 'superseded' : 'failed'
}

/** Disables the caller's deadline and signal. */
function disarm(transaction: Transaction): void {
  transaction.cancelTimers?.()
  transaction.detachSignal?.()
  drop(transaction, 'cancelTimers', 'detachSignal')
}

/**
 * Its end is in the store: if it failed, every promise about it rejects with the error, and `cancel()` is
 * answered.
 */
export function settleEnd(transaction: Transaction): void {
  transaction.endPersisted = hasFailed(transaction)
  if (transaction.failure) rejectWaiters(transaction, transaction.failure)
  settleVerdict(transaction)
}

/**
 * The final result is known: callers of `cancel` are answered, and nothing ends the transaction any more.
 */
export function settleVerdict(transaction: Transaction): void {
  disarm(transaction)
  const verdicts = transaction.cancelWaiters ?? []
  drop(transaction, 'cancelWaiters')
  for (const notify of verdicts) notify()
}

/** The description of the transaction in an error. */
export function describe(transaction: Transaction): ErrorTx & { readonly stage: Stage } {
  const { id, nonce, hash } = transaction
  return errorTxOf({ id, stage: publicStage(transaction), nonce, hash })
}

/** The fields of a new transaction, or of one that is read from the store. */
export type Beginning = Pick<
  Transaction,
  | 'id'
  | 'lane'
  | 'request'
  | 'fingerprint'
  | 'sequence'
  | 'priority'
  | 'feeCeiling'
  | 'feePreset'
  | 'createdAtMs'
  | 'expiresAtMs'
  | 'onExpiry'
  | 'private'
  | 'order'
  | 'starved'
  | 'group'
  | 'pooled'
  | 'needs'
  | 'replaces'
  | 'replacesId'
>

const NO_ATTEMPTS: readonly StoredAttempt[] = []

/**
 * Creates the initial state. Fields are listed one by one, because there are many transactions: all share one
 * hidden class, and nothing is copied. Fields that few transactions ever have are omitted.
 */
export function begin(as: Beginning): Transaction {
  return {
    id: as.id,
    lane: as.lane,
    request: as.request,
    fingerprint: as.fingerprint,
    sequence: as.sequence,
    priority: as.priority,
    feeCeiling: as.feeCeiling,
    feePreset: as.feePreset,
    createdAtMs: as.createdAtMs,
    expiresAtMs: as.expiresAtMs,
    onExpiry: as.onExpiry,
    private: as.private,
    order: as.order,
    starved: as.starved,
    group: as.group,
    pooled: as.pooled,
    gas: undefined,
    stage: 'queued',
    persistedStage: 'queued',
    nonce: undefined,
    hash: undefined,
    attempts: NO_ATTEMPTS,
    updatedAtMs: as.createdAtMs,
    finishedAtMs: undefined,
    block: undefined,
    status: undefined,
    costs: undefined,
    endPersisted: false,
    landed: undefined,
    waiters: undefined,
    enqueuing: undefined,
    watchedRemotely: false,
    needs: as.needs,
    replaces: as.replaces,
    replacesId: as.replacesId,
    ready: false,
    settled: false,
    handle: undefined,
    owner: undefined,
  }
}

/** Fields that few transactions ever have. */
type Rare =
  | 'again'
  | 'cancelTimers'
  | 'aboveCeiling'
  | 'failure'
  | 'persistedBlock'
  | 'revertData'
  | 'previouslySigned'
  | 'refusal'
  | 'signerPause'
  | 'stageBeforeEnd'
  | 'detachSignal'
  | 'unresolved'
  | 'cancelWaiters'
  | 'withdrawError'

/** Clears these fields. A transaction that never had them gets no room for them. */
export function drop(transaction: Transaction, ...names: readonly Rare[]): void {
  for (const name of names) if (transaction[name] !== undefined) transaction[name] = undefined
}
