import type { TxlaneError } from '../../errors/base.js'
import type { Tx, WaitStage } from '../../types/index.js'
import type { Transaction } from './transaction.js'

/** One of these is told, once. */
export type Waiter = {
  readonly stage: WaitStage | 'accepted'
  /** The stage was reached, or something above it. */
  readonly reached: (tx: Tx) => void
  /** It never will be. */
  readonly failed: (error: TxlaneError) => void
  /** What it is told of. */
  readonly tx: Tx
  /** It waits no longer. */
  readonly over: (stage: Waiter['stage']) => void
}

/** Who waits for a stage that it has come to is told. */
export function tellReached(transaction: Transaction, has: (stage: Waiter['stage']) => boolean): void {
  const { waiters } = transaction
  if (waiters === undefined) return
  keepWaiters(transaction, ({ stage }) => !has(stage))
  for (const waiter of waiters) if (has(waiter.stage)) tell(waiter)
}

function tell({ stage, over, reached, failed, tx }: Waiter, error?: TxlaneError): void {
  over(stage)
  if (error) failed(error)
  else reached(tx)
}

function keepWaiters(transaction: Transaction, stays: (waiter: Waiter) => boolean): void {
  const left = transaction.waiters?.filter(stays)
  transaction.waiters = left?.length ? left : undefined
}

/** Tells who waits that no answer will come; the transaction itself goes on. */
export function rejectWaiters(transaction: Transaction, error: TxlaneError): void {
  const waiters = transaction.waiters ?? []
  transaction.waiters = undefined
  for (const waiter of waiters) tell(waiter, error)
}

/** Who sent it is told; who waits for more than its acceptance goes on waiting. */
export function rejectSenders(transaction: Transaction, error: TxlaneError): void {
  rejectWaitersFor(transaction, 'accepted', error)
}

/** Who waits for this stage is told that it will not be reached; the others go on waiting. */
export function rejectWaitersFor(transaction: Transaction, stage: Waiter['stage'], error: TxlaneError): void {
  const { waiters = [] } = transaction
  keepWaiters(transaction, (waiter) => waiter.stage !== stage)
  for (const waiter of waiters) if (waiter.stage === stage) tell(waiter, error)
}

export function addWaiter(transaction: Transaction, waiter: Waiter): void {
  const { waiters } = transaction
  transaction.waiters = waiters === undefined ? [waiter] : [...waiters, waiter]
}

/** False where it has been told already. */
export function dropWaiter(transaction: Transaction, waiter: Waiter): boolean {
  const waits = transaction.waiters?.includes(waiter) ?? false
  keepWaiters(transaction, (other) => other !== waiter)
  return waits
}
