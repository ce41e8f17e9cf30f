import { createHeap, type Heap } from '../../ledger/heap.js'
import type { Clock } from '../../platform/clock.js'
import type { Tx } from '../../types/index.js'
import type { WaitCause, WaitReason } from '../../types/wait.js'
import type { Emitter } from '../emitter.js'
import { reasonOf } from '../reasons/sentence.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import type { PendingQueue } from './pendingQueue.js'

/**
 * Keeps transactions in the order of their calls. A transaction whose preparation has to be repeated steps
 * aside, so that later ones can go on. The first later one that gets a nonce before it causes an event
 * (`reordered`). A transaction with order `strict` never steps aside: later ones wait for it.
 */
export type Order = {
  /** The transaction is being prepared. No later call of the same priority takes a nonce before it. */
  enter(transaction: Transaction): void
  /** The transaction may take a nonce as soon as it is the first. */
  ready(transaction: Transaction): void
  /** The transaction cannot be prepared for now, or does not have a place yet. */
  stepAside(transaction: Transaction, cause: WaitCause): void
  /** The transaction takes a nonce. Emits `reordered` for the transactions that it overtakes. */
  taken(transaction: Transaction): void
  /**
   * Why the transaction has stepped aside, or would have if it were not strict. Undefined if nothing delays
   * it.
   */
  reasonFor(transaction: Transaction): WaitReason | undefined
}

export function createOrder(
  {
    events,
    txOf,
    clock,
  }: { readonly events: Emitter; txOf(transaction: Transaction): Tx; readonly clock: Clock },
  queue: PendingQueue<Transaction>,
): Order {
  const reasons = new WeakMap<Transaction, WaitReason>()
  // By priority: transactions that stepped aside and for which `reordered` was not emitted since. Some of
  // them may be back in the queue.
  const aside = new Map<number, Heap<Transaction>>()
  const unreported = new WeakSet<Transaction>()

  function asideOf(priority: number): Heap<Transaction> {
    const found = aside.get(priority) ?? createHeap<Transaction>((a, b) => a.sequence < b.sequence)
    aside.set(priority, found)
    return found
  }

  return {
    enter: (transaction) => queue.add(transaction, false),
    ready(transaction) {
      reasons.delete(transaction)
      unreported.delete(transaction)
      queue.add(transaction)
    },
    stepAside(transaction, cause) {
      const before = reasons.get(transaction)
      const sinceMs = before?.for === cause.for ? before.sinceMs : clock.wallNow()
      reasons.set(transaction, reasonOf(cause, sinceMs))
      if (transaction.record.order === 'strict') return queue.add(transaction, false)
      queue.remove(transaction)
      if (unreported.has(transaction)) return
      unreported.add(transaction)
      asideOf(transaction.priority).push(transaction)
    },
    taken(by) {
      const heap = aside.get(by.priority)
      if (heap === undefined) return
      for (
        let first = heap.peek();
        first !== undefined && first.sequence < by.sequence;
        first = heap.peek()
      ) {
        heap.pop()
        if (!unreported.delete(first) || hasFailed(first)) continue
        const waitingFor = reasons.get(first)
        if (waitingFor) events.emit('reordered', { tx: txOf(first), by: txOf(by), waitingFor })
      }
      if (heap.size === 0) aside.delete(by.priority)
    },
    reasonFor: (transaction) => reasons.get(transaction),
  }
}

/**
 * Puts a transaction back into the queue for another nonce, after the pause that follows a failure of the
 * signer.
 */
export function createRequeue(
  context: { readonly clock: Clock; readonly closed: boolean },
  order: Pick<Order, 'stepAside'>,
  enqueue: (transaction: Transaction) => void,
): (transaction: Transaction) => void {
  return (transaction) => {
    const pauseMs = (transaction.notes?.signerPause?.untilMs ?? 0) - context.clock.now()
    if (pauseMs <= 0) return enqueue(transaction)
    order.stepAside(transaction, { for: 'signature', failed: true })
    context.clock.setTimer(() => {
      if (!context.closed && !hasFailed(transaction)) enqueue(transaction)
    }, pauseMs)
  }
}
