import type { MissingReceipt } from '../../chain/endpoints/receipts.js'
import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import type { WaitOptions } from '../../types/index.js'
import type { Transaction } from './transaction.js'
import { txError } from './txError.js'
import { fateNow, timeoutError } from './waitErrors.js'

/** Rejects when a wait is interrupted. */
export type Interrupt = { readonly promise: Promise<never>; readonly clear: () => void }

/** Ends a wait by the timeout or the signal of its caller. */
export function interruptOf(
  clock: Clock,
  transaction: Transaction,
  { timeoutMs, signal }: Pick<WaitOptions, 'timeoutMs' | 'signal'>,
  missing: () => MissingReceipt | undefined = () => undefined,
): Interrupt {
  const clears: (() => void)[] = []
  const promise = new Promise<never>((_, reject) => {
    if (timeoutMs !== undefined) {
      const late = () => reject(timeoutError(transaction, timeoutMs, missing()))
      clears.push(clock.setTimer(late, timeoutMs))
    }
    if (signal) {
      const abort = () =>
        reject(txError(transaction, 'ABORTED', fateNow(transaction), 'The wait was aborted.'))
      if (signal.aborted) abort()
      clears.push(onAbort(signal, abort))
    }
  })
  // It may reject after the race has ended.
  promise.catch(() => {})
  return { promise, clear: () => clears.forEach((clear) => void clear()) }
}
