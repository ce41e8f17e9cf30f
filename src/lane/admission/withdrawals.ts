import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import { lastClaim } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { Tx } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import { addTimer, note } from '../transaction/changes.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { endWith } from '../transaction/transactionEvents.js'
import { txError } from '../transaction/txError.js'
import { rejectSenders } from '../transaction/waiters.js'

export type WithdrawalsContext = {
  readonly lane: Lane
  readonly clock: Clock
  readonly events: Emitter
  readonly changed: Set<Transaction>
  readonly handedOff: ReadonlyMap<Transaction, unknown>
  txOf(transaction: Transaction): Tx
  readonly closed: boolean
}

/** Ends transactions before they execute: they fail, expire, or their caller gives them up. */
export type Withdrawals = {
  /** Ends a transaction without a nonce. */
  fail(transaction: Transaction, error: TxlaneError): void
  /**
   * Ends a transaction without journaled bytes. False if bytes may have been sent; a commit in flight counts.
   */
  remove(transaction: Transaction, error: TxlaneError): boolean
  /** Requests the cancellation of a journaled transaction. */
  cancel(transaction: Transaction): void
  abort(transaction: Transaction): void
  /** Arms the caller's deadline. If another process becomes the leader, that process enforces it. */
  arm(transaction: Transaction): void
  /** Ends the transaction if its deadline has passed, whether or not its timer has fired. */
  expireIfDue(transaction: Transaction): void
}

export function createWithdrawals(
  context: WithdrawalsContext,
  parts: {
    readonly queued: ReadonlySet<Transaction>
    /** Takes the transaction out of the queue. */
    readonly leave: (transaction: Transaction) => void
    readonly forget: (transaction: Transaction) => void
    readonly ended: (transaction: Transaction) => void
    /** A transaction behind the ended one may get a nonce. */
    readonly freed: () => void
  },
): Withdrawals {
  const { lane, clock } = context
  const deadlines = createWallDeadlines({ clock, due: expire })

  function expire(transaction: Transaction): void {
    giveUp(transaction, 'EXPIRED', 'It expired.', transaction.record.onExpiry === 'cancel')
  }

  /**
   * Removes the transaction if it is not journaled. Otherwise the pending `send` rejects, and the work goes
   * on.
   */
  function giveUp(
    transaction: Transaction,
    code: 'EXPIRED' | 'ABORTED',
    message: string,
    isCancel: boolean,
  ): void {
    // The lane that receives the transaction ends it.
    if (context.closed || context.handedOff.has(transaction)) return
    if (remove(transaction, txError(transaction, code, 'notExecuted', message))) return
    const still = `${message} Its bytes were journaled: it may still execute.`
    rejectSenders(transaction, txError(transaction, code, 'inFlight', still))
    if (isCancel) cancel(transaction)
  }

  /** Row 21. A transaction that was replaced ends by itself; cancelling it must not hit its replacement. */
  function cancel({ id, nonce }: Transaction): void {
    const slot = nonce === undefined ? undefined : lane.book.get(nonce)
    if (slot === undefined || lastClaim(slot) !== id) return
    lane.apply(slot.nonce, { type: 'cancel', token: lane.token() })
  }

  function remove(transaction: Transaction, error: TxlaneError): boolean {
    if (hasFailed(transaction)) return true
    if (parts.queued.has(transaction)) {
      fail(transaction, error)
      return true
    }
    const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
    if (slot?.state !== 'reserved' || slot.claim !== transaction.id) return false
    note(transaction, 'withdrawError', error)
    const { row } = lane.apply(slot.nonce, { type: 'withdraw', claim: transaction.id, why: 'failed' })
    if (row === 0) note(transaction, 'withdrawError', undefined)
    return row !== 0
  }

  function fail(transaction: Transaction, error: TxlaneError): void {
    // A lane that lost its lease must not report outcomes.
    if (hasFailed(transaction) || context.closed) return
    parts.leave(transaction)
    endWith(context, transaction, error, parts.forget)
    // Called at once, so that one write stores all transactions that end with this one.
    parts.ended(transaction)
    parts.freed()
  }

  return {
    fail,
    remove,
    cancel,
    abort: (transaction) => giveUp(transaction, 'ABORTED', 'It was aborted.', false),
    arm(transaction) {
      const { expiresAtMs } = transaction.record
      if (expiresAtMs === undefined) return
      deadlines.set(transaction, expiresAtMs)
      addTimer(transaction, () => deadlines.forget(transaction))
    },
    expireIfDue(transaction) {
      if (clock.wallNow() >= (transaction.record.expiresAtMs ?? Number.POSITIVE_INFINITY)) expire(transaction)
    },
  }
}

/** Deadlines in wall time, as callers set them. All of them share one timer. */
type WallDeadlines<key> = {
  /**
   * The key is due once the wall clock shows `atMs` (milliseconds since the epoch). Replaces an earlier
   * deadline of the key.
   */
  set(key: key, atMs: number): void
  forget(key: key): void
}

/** The wall clock may be set forward. A deadline that it skips is noticed after this time at most. */
const LOOK_MS = 1_000

/**
 * Calls `due` once for each key, in a separate event-loop turn and never early. `due` may set the key again.
 */
export function createWallDeadlines<key>(options: {
  readonly clock: Clock
  readonly due: (key: key) => void
}): WallDeadlines<key> {
  const { clock, due } = options
  const dueAtMs = new Map<key, number>()
  // No deadline is earlier. If the deadline behind it was removed, the next check finds the next one.
  let earliestMs = Number.POSITIVE_INFINITY
  let cancel: CancelTimer | undefined

  function plan(): void {
    cancel?.()
    cancel = undefined
    if (dueAtMs.size === 0) return
    const leftMs = Math.max(0, earliestMs - clock.wallNow())
    cancel = clock.setTimer(look, Math.min(leftMs, LOOK_MS))
  }

  function look(): void {
    cancel = undefined
    const nowMs = clock.wallNow()
    if (nowMs >= earliestMs) expire(nowMs)
    plan()
  }

  function expire(nowMs: number): void {
    const passed: key[] = []
    earliestMs = Number.POSITIVE_INFINITY
    for (const [key, atMs] of dueAtMs) {
      if (atMs <= nowMs) passed.push(key)
      else earliestMs = Math.min(earliestMs, atMs)
    }
    // One due key may make the lane forget another.
    for (const key of passed) if (dueAtMs.delete(key)) due(key)
  }

  return {
    set(key, atMs) {
      dueAtMs.set(key, atMs)
      if (cancel !== undefined && atMs >= earliestMs) return
      earliestMs = Math.min(earliestMs, atMs)
      plan()
    },
    forget(key) {
      if (!dueAtMs.delete(key) || dueAtMs.size > 0) return
      earliestMs = Number.POSITIVE_INFINITY
      plan()
    },
  }
}
