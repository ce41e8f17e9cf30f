import { isTxlaneError } from '../errors/base.js'
import type { Enqueued, Store, StoredTransaction } from '../types/store.js'

type Call = {
  readonly transactions: readonly StoredTransaction[]
  readonly resolve: (answers: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

/** As many as one statement keeps. A call that has more by itself goes alone. */
const TOGETHER_MAX = 500

export type Gathered = {
  readonly enqueue: Store['enqueue']
  /** Resolves when all that was asked for is answered. */
  idle(): Promise<void>
}

/**
 * Calls of all lanes that come while the store is busy with one go together with the next. A pool has a call for each of
 * its lanes, and each would be a commit: PostgreSQL makes those that notify one after the other (`PreCommit_Notify` takes
 * a lock of the whole server, src/backend/commands/async.c).
 */
export function gathered(enqueue: Store['enqueue']): Gathered {
  const waiting: Call[] = []
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    // What is asked for in the same turn goes together, too.
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
      // One of them cannot be kept, and nothing was: each is told of itself.
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
