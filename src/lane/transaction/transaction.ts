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

/** What a transaction depends on, and what those that depend on it may look for (`deploys`, `effect`). */
export type Needs = Pick<SendOptions, 'after' | 'afterStage' | 'afterStatus' | 'deploys' | 'effect'> &
  OwnNeeds

/** What the engine knows of one transaction. One object for its whole life. */
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
  /** For `send` endpoints alone. */
  readonly private?: true | undefined
  /** Later ones wait until it has a nonce, or has ended. */
  readonly order?: 'strict' | undefined
  /** It does not wait for money that the account has not got. */
  readonly starved?: 'fail' | undefined
  /** Whose it is: groups share a lane by their weights. */
  readonly group?: string | undefined
  /** Any account of a pool may send it. The lanes that it was in before, by address. */
  readonly pooled?: readonly Address[] | undefined
  gas: bigint | undefined
  stage: Stage
  /** As the store was told last. */
  persistedStage: Stage
  nonce: number | undefined
  hash: Hash | undefined
  /** What was signed of it, the oldest first: see `ATTEMPTS_MAX`. */
  attempts: readonly StoredAttempt[]
  /** When its stage, hash or status changed last. */
  updatedAtMs: number | undefined
  /** When its outcome was known. */
  finishedAtMs: number | undefined
  /** The sealed block it was last seen in. */
  block: BlockRef | undefined
  /** The sealed block that the store names: nobody here has walked it, and it may have left the chain. */
  persistedBlock?: BlockRef | undefined
  status: 'success' | 'reverted' | undefined
  /** As its receipt says, once somebody asked for it. */
  costs: StoredCosts | undefined
  /** What it gave back when it reverted in its block, as far as that could be found out. */
  revertData?: Hex | undefined
  failure?: TxlaneError | undefined
  stageBeforeEnd?: Stage | undefined
  /** That it ended is in the store: before that nobody may be told, since a crash would undo it (P5). */
  endPersisted: boolean
  /** The name of an endpoint, and what it last said instead of taking it. */
  refusal?: string | undefined
  /** The node asks for more than its ceiling. */
  aboveCeiling?: AboveCeiling | undefined
  /** Why the lane took its nonce for a no-op. */
  givenUp?: GivenUp
  /** What it has waited for so long that the store was told: see `isTimely`. */
  waiting?: WaitReason | undefined
  /** A caller waits for its receipt, which nobody has shown. */
  missingReceipt?: MissingReceipt | undefined
  /** The landed receipt, once somebody asked for it. */
  landed: Landed | undefined
  unresolved?: true | undefined
  waiters: Waiter[] | undefined
  cancelTimers?: CancelTimer | undefined
  /** The caller's signal is not heeded any more. */
  detachSignal?: (() => void) | undefined
  /** While the store has not answered for it: its id may stand there for what was sent long ago. */
  enqueuing: Promise<unknown> | undefined
  /** Another process may wait for it: each of its stages is written. */
  watchedRemotely: boolean
  needs: Needs | undefined
  /** The transaction whose nonce it is to take over. */
  replaces: Transaction | undefined
  /** The id of that one, which the store may have forgotten. */
  readonly replacesId: string | undefined
  /** The id of the replacement that ended it. */
  supersededBy?: string | undefined
  /** Prepared: it may take a nonce as soon as it is the first in line. */
  ready: boolean
  /** Fees that its caller named for a bump since: its ceilings are above them, as above those in the request. */
  callerBumpFees?: Fees
  /** How often its id began anew. */
  life?: number | undefined
  /** Its caller wants it to begin anew where it ended before, which the store has yet to say. */
  again?: true | undefined
  /** A bump that its caller asked for and that was not made yet, with the fees named for it. */
  requestedBump?: { readonly fees: Fees | undefined } | undefined
  /** Why the claim was withdrawn from its nonce, until the table has ended it. */
  withdrawError?: TxlaneError | undefined
  /** Bytes of it were journaled at a nonce that something else took. */
  previouslySigned?: true | undefined
  /** Its signer failed so often in a row, after bytes of it had been out before: not to be signed again before this time. */
  signerPause?: { readonly failures: number; readonly untilMs: number } | undefined
  /** Landed, at `lossDepth`. */
  settled: boolean
  /** Called once it is certain whether it executed. */
  cancelWaiters?: (() => void)[] | undefined
  /** What callers have of it. */
  handle: Tx | undefined
  /** Whose intake has it, in this process: by identity. */
  owner: object | undefined
}

/** What callers may be told of its stage: an end that is not in the store yet could still be undone (P5). */
export function publicStage({ stage, failure, endPersisted: endKept, stageBeforeEnd }: Transaction): Stage {
  return failure && !endKept ? (stageBeforeEnd ?? stage) : stage
}

/** True when the transaction has come to the stage or beyond it on its way to execution. */
export function hasReached(transaction: Pick<Transaction, 'stage'>, stage: Stage): boolean {
  const now = rank.get(transaction.stage)
  const wanted = rank.get(stage)
  return now !== undefined && wanted !== undefined && now >= wanted
}

/** It ended without executing. */
export function hasFailed(transaction: Transaction): boolean {
  return transaction.failure !== undefined
}

/** Whether it ran, as far as it is known. An end that is not in the store yet could still be undone (P5). */
export function fateOf(transaction: Transaction): Fate {
  if (hasReached(transaction, 'sealed')) return 'executed'
  return transaction.endPersisted ? (transaction.failure?.fate ?? 'notExecuted') : 'inFlight'
}

/** For the times that a record shows. */
export type WallClock = Pick<Clock, 'wallNow'>

/** Its stage, hash or status has changed. */
export function touched(transaction: Transaction, clock: WallClock): void {
  transaction.updatedAtMs = clock.wallNow()
}

/** Its outcome is known, if it was not before. */
export function finished(transaction: Transaction, clock: WallClock): void {
  transaction.finishedAtMs ??= clock.wallNow()
}

/** Moves to a stage and wakes who waits for it. A reorg may move it back. */
export function moveTo(transaction: Transaction, stage: Stage, clock: WallClock): void {
  if (transaction.stage !== stage) touched(transaction, clock)
  transaction.stage = stage
  wake(transaction)
}

/** Tells who waits for what it has come to. */
export function wake(transaction: Transaction): void {
  tellReached(transaction, (wanted) => hasReached(transaction, wanted))
}

/** Ends it without execution. Who waits is told by `tellEnd`, once the end is in the store. */
export function end(transaction: Transaction, error: TxlaneError, clock: WallClock): void {
  if (hasFailed(transaction)) return
  const stage = endStage(error.code)
  transaction.failure = error
  transaction.stageBeforeEnd = transaction.stage
  transaction.stage = stage
  touched(transaction, clock)
  finished(transaction, clock)
  // The error was made before the end: what it says of the transaction is how it ended.
  Object.assign(error, { tx: { ...describe(transaction), stage } })
  disarm(transaction)
}

/** The stage that goes with the error a transaction ended with. */
export function endStage(code: TxlaneErrorCode): 'failed' | 'cancelled' | 'superseded' {
  if (code === 'CANCELLED') return 'cancelled'
  return code === 'SUPERSEDED' ? 'superseded' : 'failed'
}

/** Nothing that the caller set, a deadline or a signal, ends it any more. */
function disarm(transaction: Transaction): void {
  transaction.cancelTimers?.()
  transaction.detachSignal?.()
  drop(transaction, 'cancelTimers', 'detachSignal')
}

/** Its end is known: where it failed, every promise about it rejects with the error; `cancel()` has its answer. */
export function settleEnd(transaction: Transaction): void {
  transaction.endPersisted = hasFailed(transaction)
  if (transaction.failure) rejectWaiters(transaction, transaction.failure)
  settleVerdict(transaction)
}

/** The chain's last word on it is known: who asked for a cancel is answered, and nothing ends it any more. */
export function settleVerdict(transaction: Transaction): void {
  disarm(transaction)
  const verdicts = transaction.cancelWaiters ?? []
  drop(transaction, 'cancelWaiters')
  for (const tell of verdicts) tell()
}

/** What an error says of it. */
export function describe(transaction: Transaction): ErrorTx & { readonly stage: Stage } {
  const { id, nonce, hash } = transaction
  return errorTxOf({ id, stage: publicStage(transaction), nonce, hash })
}

/** What a transaction is when it comes in, or is read from the store. */
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
 * Nothing has happened to it yet. Field by field: one shape for all of them, and no copying, as there are many. What few
 * transactions ever have is left out.
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

/** What few transactions ever have. */
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

/** It has these no longer. One that never had them gets no room for them. */
export function drop(transaction: Transaction, ...names: readonly Rare[]): void {
  for (const name of names) if (transaction[name] !== undefined) transaction[name] = undefined
}
