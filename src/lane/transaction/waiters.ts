import type { TxlaneError } from '../../errors/base.js'
import type { Tx, WaitStage } from '../../types/index.js'
import type { Transaction } from './transaction.js'

/** Callbacks of one wait; one of them is called, once. */
export type Waiter = {
  readonly stage: WaitStage | 'accepted'
  /** The stage was reached, or a later one. */
  readonly reached: (tx: Tx) => void
  /** The stage will not be reached. */
  readonly failed: (error: TxlaneError) => void
  /** The handle that `reached` receives. */
  readonly tx: Tx
  /** The wait has ended. */
  readonly over: (stage: Waiter['stage']) => void
}

/** Notifies the waiters for a stage that the transaction has reached. */
export function tellReached(transaction: Transaction, has: (stage: Waiter['stage']) => boolean): void {
  const { waiters } = transaction
  if (waiters === undefined) return
  keepWaiters(transaction, ({ stage }) => !has(stage))
  for (const waiter of waiters) if (has(waiter.stage)) settle(waiter)
}

function settle({ stage, over, reached, failed, tx }: Waiter, error?: TxlaneError): void {
  over(stage)
  if (error) failed(error)
  else reached(tx)
}

function keepWaiters(transaction: Transaction, stays: (waiter: Waiter) => boolean): void {
  const left = transaction.waiters?.filter(stays)
  transaction.waiters = left?.length ? left : undefined
}

/** Rejects all waiters. The transaction itself continues. */
export function rejectWaiters(transaction: Transaction, error: TxlaneError): void {
  const waiters = transaction.waiters ?? []
  transaction.waiters = undefined
  for (const waiter of waiters) settle(waiter, error)
}

/** Rejects the callers of `send`. Callers that wait for a later stage continue to wait. */
export function rejectSenders(transaction: Transaction, error: TxlaneError): void {
  rejectWaitersFor(transaction, 'accepted', error)
}

/** Rejects the callers that wait for this stage. The others continue to wait. */
export function rejectWaitersFor(transaction: Transaction, stage: Waiter['stage'], error: TxlaneError): void {
  const { waiters = [] } = transaction
  keepWaiters(transaction, (waiter) => waiter.stage !== stage)
  for (const waiter of waiters) if (waiter.stage === stage) settle(waiter, error)
}

export function addWaiter(transaction: Transaction, waiter: Waiter): void {
  const { waiters } = transaction
  transaction.waiters = waiters === undefined ? [waiter] : [...waiters, waiter]
}

/** Returns false if the waiter was notified already. */
export function dropWaiter(transaction: Transaction, waiter: Waiter): boolean {
  const waits = transaction.waiters?.includes(waiter) ?? false
  keepWaiters(transaction, (other) => other !== waiter)
  return waits
}
