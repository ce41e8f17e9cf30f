import type { Hash, TransactionReceipt } from 'viem'
import type { TxlaneError } from '../../errors/base.js'
import type { Fees } from '../../ledger/fees.js'
import type { Slot, Used } from '../../ledger/slot.js'
import type { CancelTimer } from '../../platform/clock.js'
import { recordWith } from '../../store/recordWith.js'
import type { Stage } from '../../types/index.js'
import type { StoredAttempt, StoredCosts, StoredTransaction } from '../../types/store.js'
import { attemptsOf, attemptsWith, boundFields } from './attempts.js'
import {
  describe,
  endStage,
  hasFailed,
  hasReached,
  type Notes,
  notesOf,
  storedFailure,
  type Transaction,
  type WallClock,
} from './transaction.js'
import { notifyReached, rejectWaiters } from './waiters.js'

// This file contains every write to the record of a transaction. It also contains the writes to the memory-only
// state that change several fields, or that several files need.

/** Only the functions of this file may assign a record. */
type Writable = { record: StoredTransaction }
type Changes = { -readonly [field in keyof StoredTransaction]?: StoredTransaction[field] }

/** Fields that change together. Each change of them has a function of its own below. */
type Dependent =
  | 'stage'
  | 'nonce'
  | 'hash'
  | 'attempts'
  | 'fees'
  | 'signedAtMs'
  | 'block'
  | 'status'
  | 'costs'
  | 'verdict'
  | 'failure'
  | 'updatedAtMs'
  | 'finishedAtMs'

/** Changes fields of the record on which no other field depends. */
export function update(transaction: Transaction, changes: Omit<Changes, Dependent>): void {
  change(transaction, changes)
}

function change(transaction: Writable, changes: Changes, record = transaction.record): void {
  transaction.record = recordWith(record, changes)
}

/** Moves to a stage and notifies the waiters for it. A reorg may move it back. */
export function moveTo(transaction: Transaction, stage: Stage, clock: WallClock): void {
  if (transaction.stage !== stage) change(transaction, { stage, updatedAtMs: clock.wallNow() })
  notifyReached(transaction)
}

/** The transaction has this nonce from now on. Its attempts and its hash remain. */
export function bindTo(transaction: Transaction, nonce: number): void {
  const { record } = transaction
  if (record.nonce !== nonce) change(transaction, placeOf(record, nonce, record.hash))
}

/** The changed fields for this nonce and hash. The form of the attempts depends on both. */
function placeOf(
  record: StoredTransaction,
  nonce: number | undefined,
  hash: Hash | undefined,
  newAttempts?: readonly StoredAttempt[],
): Changes {
  if (newAttempts === undefined && record.nonce === nonce && record.hash === hash) return {}
  return boundFields({ nonce, hash }, newAttempts ?? attemptsOf(record))
}

/** The newest attempt of the transaction in a slot. */
type Own = {
  readonly hash: Hash
  /** The slot was read from the store. */
  readonly isRestored: boolean
  /** The stage to which it moves; undefined if its stage remains. The caller notifies the waiters. */
  readonly stage?: Stage | undefined
}

/**
 * The newest attempt of the transaction in this slot has this hash. Returns true if another one was the newest
 * before.
 */
export function signedIn(
  transaction: Transaction,
  slot: Pick<Slot, 'nonce' | 'attempts'>,
  { hash, isRestored, stage }: Own,
  clock: WallClock,
): boolean {
  const { record } = transaction
  const attempts = attemptsWith(record, slot, isRestored ? undefined : clock)
  const isNews = record.hash !== hash
  const isSame = attempts === undefined && !isNews && record.nonce === slot.nonce
  if (isSame && stage === undefined) return false
  const changes = placeOf(record, slot.nonce, hash, attempts)
  if (stage !== undefined) changes.stage = stage
  if (isNews || stage !== undefined) changes.updatedAtMs = clock.wallNow()
  change(transaction, changes)
  return isNews
}

/**
 * The attempt with this hash executed in the block of the slot. Its stage is at least `sealed`. Returns true
 * if it was an earlier one before; the caller notifies the waiters.
 */
export function executedIn(
  transaction: Transaction,
  slot: Used,
  hash: Hash | undefined,
  clock: WallClock,
): boolean {
  const { record } = transaction
  const isNew = !hasReached(record, 'sealed')
  const changes = placeOf(record, slot.nonce, hash, attemptsWith(record, slot, undefined))
  changes.block = slot.at
  if (isNew) changes.stage = 'sealed'
  if (isNew || record.hash !== hash) changes.updatedAtMs = clock.wallNow()
  // A transaction that was read from the store may have received its verdict in an earlier process.
  if (slot.settled) changes.verdict = 'landed'
  change(transaction, changes)
  transaction.isBlockWalked = true
  return isNew
}

/** The block in which it executed has left the chain. */
export function leftBlock(transaction: Transaction, clock: WallClock): void {
  transaction.isBlockWalked = false
  transaction.landed = undefined
  change(transaction, {
    stage: 'accepted',
    block: undefined,
    status: undefined,
    costs: undefined,
    revertData: undefined,
    updatedAtMs: clock.wallNow(),
    finishedAtMs: undefined,
  })
}

/** The transaction has no nonce any more, and is queued. Its attempts remain. */
export function unbind(transaction: Transaction, clock: WallClock): void {
  const { record } = transaction
  const changes = placeOf(record, undefined, undefined)
  changes.stage = 'queued'
  if (record.stage !== 'queued' || record.hash !== undefined) changes.updatedAtMs = clock.wallNow()
  change(transaction, changes)
  notifyReached(transaction)
}

/** Another transaction used its nonce. Bytes of it may have been sent at that nonce. */
export function lostNonce(transaction: Transaction, clock: WallClock): void {
  if (transaction.hash !== undefined) note(transaction, 'previouslySigned', true)
  unbind(transaction, clock)
}

/** The transaction executed, at `lossDepth` or by the decision of the operator. */
export function markLanded(transaction: Transaction, clock: WallClock): void {
  const { finishedAtMs = clock.wallNow() } = transaction.record
  change(transaction, { verdict: 'landed', finishedAtMs })
}

/** The transaction executed by the decision of the operator, which names no attempt. */
export function markLandedUnseen(transaction: Transaction, clock: WallClock): void {
  const { record } = transaction
  change(transaction, placeOf(record, record.nonce, undefined))
  moveTo(transaction, 'finalized', clock)
}

/** Nothing proves which transaction used its nonce, or the proof was found. The verdict `landed` is final. */
export function setUnresolved(transaction: Transaction, isUnresolved: boolean): void {
  note(transaction, 'unresolved', isUnresolved || undefined)
  if (!transaction.settled) change(transaction, { verdict: isUnresolved ? 'unresolved' : undefined })
}

/**
 * viem's formatter of an OP-stack chain adds `l1Fee`. Receipts of blob transactions contain the blob fields.
 */
type Receipt = Pick<
  TransactionReceipt,
  'status' | 'gasUsed' | 'effectiveGasPrice' | 'blobGasUsed' | 'blobGasPrice'
> & { readonly l1Fee?: unknown }

/** Stores the result of its receipt. Returns true if a part of it was new. */
export function noteReceipt(transaction: Transaction, receipt: Receipt, clock: WallClock): boolean {
  const { record } = transaction
  const { status } = receipt
  const costs = costsOf(receipt)
  const isOtherStatus = record.status !== status
  const changes: Changes = { status, costs }
  if (isOtherStatus) changes.updatedAtMs = clock.wallNow()
  change(transaction, changes)
  return isOtherStatus || (costs !== undefined && record.costs === undefined)
}

/** Undefined if the receipt lacks the price, as on some chains. */
function costsOf({ gasUsed, effectiveGasPrice, l1Fee, ...blob }: Receipt): StoredCosts | undefined {
  if (typeof gasUsed !== 'bigint' || typeof effectiveGasPrice !== 'bigint') return undefined
  const l1 = typeof l1Fee === 'bigint' ? { l1Fee } : {}
  const blobFee = (blob.blobGasUsed ?? 0n) * (blob.blobGasPrice ?? 0n)
  return {
    gasUsed,
    effectiveGasPrice,
    ...l1,
    totalFee: gasUsed * effectiveGasPrice + blobFee + (l1.l1Fee ?? 0n),
  }
}

/** Ends it without execution. `settleEnd` notifies the waiters once the end is in the store. */
export function end(transaction: Transaction, error: TxlaneError, clock: WallClock): void {
  if (hasFailed(transaction)) return
  const stage = endStage(error.code)
  const updatedAtMs = clock.wallNow()
  const { finishedAtMs = updatedAtMs } = transaction.record
  transaction.notes = { ...transaction.notes, error, stageBeforeEnd: transaction.stage }
  change(transaction, { stage, failure: storedFailure(error), updatedAtMs, finishedAtMs })
  // The error was created before the end, so its description of the transaction is updated.
  Object.assign(error, { tx: { ...describe(transaction), stage } })
  disarm(transaction)
}

/**
 * The end of the transaction is in the store: if it failed, every promise about it rejects with the error, and
 * `cancel()` is answered.
 */
export function settleEnd(transaction: Transaction): void {
  note(transaction, 'stageBeforeEnd', undefined)
  if (transaction.failure) rejectWaiters(transaction, transaction.failure)
  settleVerdict(transaction)
}

/**
 * The final result is known: callers of `cancel` are answered, and nothing ends the transaction any more.
 */
export function settleVerdict(transaction: Transaction): void {
  disarm(transaction)
  const { cancelWaiters } = transaction
  if (cancelWaiters === undefined) return
  transaction.cancelWaiters = undefined
  for (const notify of cancelWaiters) notify()
}

/** Disables the caller's deadline and signal. */
function disarm(transaction: Transaction): void {
  stopTimers(transaction)
  if (transaction.detachSignal === undefined) return
  transaction.detachSignal()
  transaction.detachSignal = undefined
}

/** `cancel` is called when the transaction ends or leaves the lane, or when its record is replaced. */
export function addTimer(transaction: Transaction, cancel: CancelTimer): void {
  const { cancelTimers } = transaction
  transaction.cancelTimers = () => {
    cancelTimers?.()
    cancel()
  }
}

export function stopTimers(transaction: Transaction): void {
  if (transaction.cancelTimers === undefined) return
  transaction.cancelTimers()
  transaction.cancelTimers = undefined
}

/**
 * Replaces the record by one that was read from the store, and discards the notes of this process about the
 * former record. The callers in this process and their requests remain.
 */
export function refresh(transaction: Transaction, stored: StoredTransaction): void {
  const { hash } = transaction
  stopTimers(transaction)
  change(transaction, receiptFields(transaction.record, stored), stored)
  transaction.persistedStage = stored.stage
  transaction.isBlockWalked = false
  transaction.ready = false
  transaction.enqueuing = undefined
  if (!transaction.settled || hash !== stored.hash) transaction.landed = undefined
  transaction.notes = notesOf(stored)
  notifyReached(transaction)
}

/** The receipt fields of the former record, if the lease owner has not read the receipt and this process has. */
function receiptFields(
  { hash, status, costs, revertData }: StoredTransaction,
  stored: StoredTransaction,
): Changes {
  const isRead = costs !== undefined && stored.costs === undefined && hash === stored.hash
  if (!isRead || !hasReached(stored, 'sealed')) return {}
  return { status, costs, revertData: stored.revertData ?? revertData }
}

/** Changes a note. A transaction without notes gets none by clearing one. */
export function note<name extends keyof Notes>(
  transaction: Transaction,
  name: name,
  value: Notes[name],
): void {
  if (transaction.notes?.[name] !== value) transaction.notes = { ...transaction.notes, [name]: value }
}

/** The caller requested a bump, with these fees or with the fees of the market. */
export function requestBump(transaction: Transaction, fees: Fees | undefined): void {
  transaction.requestedBump = { fees }
  if (fees) transaction.callerBumpFees = fees
}

/** Returns the bump that its caller requested, and removes the request. */
export function takeRequestedBump(transaction: Transaction): Transaction['requestedBump'] {
  const { requestedBump } = transaction
  if (requestedBump !== undefined) transaction.requestedBump = undefined
  return requestedBump
}
