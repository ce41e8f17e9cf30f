import type { MissingReceipt } from '../../chain/endpoints/receipts.js'
import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import type { WaitOptions } from '../../types/index.js'
import type { Transaction } from './transaction.js'
import { txError } from './txError.js'
import { fateNow, timeoutError } from './waitErrors.js'

/**
 * Runs the wait of a caller, who may end it by a timeout or a signal: then `interrupted` rejects, against which the work
 * races its steps. This costs no AbortController for each wait.
 */
export async function interruptible<T>(
  parts: {
    readonly clock: Clock
    readonly transaction: Transaction
    readonly options: Pick<WaitOptions, 'timeoutMs' | 'signal'>
    /** The receipt that the wait lacks, for the error of the timeout. */
    readonly missing?: () => MissingReceipt | undefined
  },
  work: (interrupted: Promise<never>) => Promise<T>,
): Promise<T> {
  const { clock, transaction, options, missing = () => undefined } = parts
  const { timeoutMs, signal } = options
  const clears: (() => void)[] = []
  const interrupted = new Promise<never>((_, reject) => {
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
  // It may reject when the work awaits nothing of it.
  interrupted.catch(() => {})
  try {
    return await work(interrupted)
  } finally {
    for (const clear of clears) clear()
  }
}
