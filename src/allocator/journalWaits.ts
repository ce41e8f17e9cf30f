import type { TxlaneError } from '../errors/base.js'
import type { Journal } from './journal.js'

/** The callers that wait until a change is in the store. */
export type JournalWaits = {
  /** Resolves once all changes up to now are in the store. `bytes`: another process that reads them may use them. */
  written(bytes: boolean): Promise<void>
  /** Rejects the waiting callers. `mayBeStored`: the store was asked to keep the bytes, and has not answered. */
  stop(errorOf: (mayBeStored: boolean) => TxlaneError): void
}

type Wait = { readonly reject: (error: TxlaneError) => void; mayBeStored: boolean }

export function createJournalWaits(journal: Pick<Journal, 'touch'>): JournalWaits {
  const waits = new Set<Wait>()
  return {
    written: (bytes) =>
      new Promise((resolve, reject) => {
        const wait: Wait = { reject, mayBeStored: false }
        waits.add(wait)
        const done = () => {
          waits.delete(wait)
          resolve()
        }
        const begun = () => {
          wait.mayBeStored = bytes
        }
        journal.touch(done, begun)
      }),
    stop(errorOf) {
      for (const { reject, mayBeStored } of waits) reject(errorOf(mayBeStored))
      waits.clear()
    },
  }
}
