import type { Lane } from '../../allocator/lane.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Store } from '../../types/store.js'
import { fromStored } from '../transaction/stored.js'
import type { Transaction } from '../transaction/transaction.js'

type StoredFinalityContext = {
  readonly lane: Lane
  readonly store: Pick<Store, 'find'>
  readonly transactions: ReadonlyMap<string, Transaction>
  readonly errors: Repeats<Error>
  readonly closed: boolean
}

const AT_ONCE = 64

/**
 * Notes in the store that transactions are final of which this process has no object. A read that fails is
 * repeated with the next call. If the lane changes its owner before, the next owner finds them unfinished.
 */
export function createStoredFinality(
  context: StoredFinalityContext,
  done: (transaction: Transaction) => void,
): (ids: readonly string[]) => void {
  const { lane, store, transactions } = context
  const waiting: string[] = []
  let isRunning = false

  async function find(id: string): Promise<Transaction | undefined> {
    const stored = await store.find(lane.key, { id })
    const isOpen = stored?.stage === 'sealed' || stored?.stage === 'safe'
    if (!isOpen || stored.lane.address !== lane.key.address) return undefined
    return transactions.get(id) ?? fromStored(stored)
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const ids = waiting.slice(0, AT_ONCE)
      const found = await Promise.all(ids.map(find))
      if (context.closed) return
      waiting.splice(0, ids.length)
      for (const transaction of found) if (transaction) done(transaction)
      await lane.journal.flushed()
      if (context.closed) return
    }
  }

  return (ids) => {
    for (const id of ids) waiting.push(id)
    if (isRunning || waiting.length === 0) return
    isRunning = true
    run()
      .catch((error: unknown) => reportError(context, error))
      .finally(() => {
        isRunning = false
      })
  }
}
