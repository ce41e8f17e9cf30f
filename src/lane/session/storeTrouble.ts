import { isTxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { Clock } from '../../platform/clock.js'
import { isReplaced } from '../../store/replaced.js'

/** A store that does not read or write: since when, in wall time, and what it said last. */
export type StoreTrouble = {
  readonly current:
    | { readonly sinceMs: number; readonly said: string; readonly isReplaced: boolean }
    | undefined
  /** Errors of anything but the store are ignored. */
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
