import type { Clock } from '../../platform/clock.js'
import type { Order } from '../queue/order.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'

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
