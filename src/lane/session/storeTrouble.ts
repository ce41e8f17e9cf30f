import { isTxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { Clock } from '../../platform/clock.js'
import { isReplaced } from '../../store/replaced.js'

/** The current failure of the store, if it does not read or write. */
export type StoreTrouble = {
  readonly current:
    | { readonly sinceMs: number; readonly said: string; readonly isReplaced: boolean }
    | undefined
  /** Records a failure. Ignores errors with a code other than `STORE`. */
  failed(error: unknown): void
  works(): void
}

export function createStoreTrouble(clock: Pick<Clock, 'wallNow'>): StoreTrouble {
  let current: StoreTrouble['current']
  return {
    get current() {
      return current
    },
    failed(error) {
      if (!isTxlaneError(error) || error.code !== 'STORE') return
      current = {
        sinceMs: current?.sinceMs ?? clock.wallNow(),
        said: quoteOf(error.shortMessage),
        isReplaced: isReplaced(error),
      }
    },
    works() {
      current = undefined
    },
  }
}
