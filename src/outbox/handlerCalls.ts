import type { Clock } from '../platform/clock.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { StoredTransaction } from '../types/store.js'
import { deliveryOf, withReceipt } from './deliveries.js'
import { type Failure, failureOf } from './deliveryError.js'
import type { OutboxSettings } from './options.js'

/** The calls of the handler, each within its timeout. */
export type HandlerCalls = {
  /** Calls the handler. Resolves with its failure; undefined if it accepted the delivery, or was aborted. */
  call(delivery: StoredDelivery, record: StoredTransaction): Promise<Failure | undefined>
  /** True once no more calls may start. */
  readonly isClosed: boolean
  /** True once the results of running calls are to be ignored. */
  readonly isStopped: boolean
  /** No more calls may start. Running ones continue. */
  close(): void
  /** As `close`, and aborts the running calls. */
  stop(): void
}

export function createHandlerCalls(clock: Pick<Clock, 'setTimer'>, settings: OutboxSettings): HandlerCalls {
  const { name, receipts, timeoutMs, onStage } = settings
  const controllers = new Set<AbortController>()
  let isClosed = false
  let isStopped = false

  function call(delivery: StoredDelivery, record: StoredTransaction): Promise<Failure | undefined> {
    const controller = new AbortController()
    const { signal } = controller
    controllers.add(controller)
    return new Promise<Failure | undefined>((resolve) => {
      const cancel = clock.setTimer(() => {
        resolve(failureOf(new Error(`No answer in ${timeoutMs} ms.`)))
        controller.abort()
      }, timeoutMs)
      signal.addEventListener('abort', () => resolve(undefined))
      handle(delivery, record, signal)
        .then(
          () => resolve(undefined),
          (error: unknown) => resolve(failureOf(error)),
        )
        .finally(cancel)
    }).finally(() => controllers.delete(controller))
  }

  async function handle(
    delivery: StoredDelivery,
    record: StoredTransaction,
    signal: AbortSignal,
  ): Promise<void> {
    const plain = deliveryOf(name, delivery, record)
    const whole = await withReceipt(plain, receipts, { timeoutMs, signal })
    if (!signal.aborted) await onStage(whole, { signal })
  }

  return {
    call,
    get isClosed() {
      return isClosed
    },
    get isStopped() {
      return isStopped
    },
    close() {
      isClosed = true
    },
    stop() {
      isStopped = isClosed = true
      for (const controller of controllers) controller.abort()
    },
  }
}
