import { isTxlaneError } from '../errors/base.js'
import type { Enqueued, Store, StoredTransaction } from '../types/store.js'

type Call = {
  readonly transactions: readonly StoredTransaction[]
  readonly resolve: (answers: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

/** The number of transactions that one statement stores. A larger single call goes alone. */
const TOGETHER_MAX = 500

export type Gathered = {
  readonly enqueue: Store['enqueue']
  /** Resolves when all calls are answered. */
  idle(): Promise<void>
}

/**
 * Combines `enqueue` calls of all lanes: calls that arrive while the store is busy go together as the next
 * call. A pool makes a call for each of its lanes, and each would be a commit. PostgreSQL serialises commits
 * that notify (`PreCommit_Notify` takes a lock of the whole server, src/backend/commands/async.c).
 */
export function gathered(enqueue: Store['enqueue']): Gathered {
  const waiting: Call[] = []
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    // Calls made in the same turn are combined too.
    await Promise.resolve()
    while (waiting.length > 0) await askTogether(taken())
    running = undefined
  }

  function taken(): readonly Call[] {
    let size = 0
    const fit = waiting.findIndex(({ transactions }, index) => {
      size += transactions.length
      return index > 0 && size > TOGETHER_MAX
    })
    return waiting.splice(0, fit < 0 ? waiting.length : fit)
  }

  async function askTogether(calls: readonly Call[]): Promise<void> {
    if (calls.length === 1) return ask(calls[0] as Call)
    try {
      const answers = await enqueue(calls.flatMap(({ transactions }) => transactions))
      let from = 0
      for (const { transactions, resolve } of calls) {
        resolve(answers.slice(from, from + transactions.length))
        from += transactions.length
      }
    } catch (error) {
      // One of the calls cannot be stored, so nothing was stored. Each call is repeated alone, to get its own
      // result.
      if (isTxlaneError(error) && error.code === 'INVALID') for (const call of calls) await ask(call)
      else for (const { reject } of calls) reject(error)
    }
  }

  async function ask({ transactions, resolve, reject }: Call): Promise<void> {
    await enqueue(transactions).then(resolve, reject)
  }

  return {
    enqueue: (transactions) =>
      new Promise((resolve, reject) => {
        waiting.push({ transactions, resolve, reject })
        running ??= run()
      }),
    idle: async () => running,
  }
}
