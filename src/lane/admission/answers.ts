import { createApart, type Moment } from '../../chain/endpoints/apart.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { Transaction } from '../transaction/transaction.js'

/** After this many equal answers at different blocks the answer is final. */
export const ANSWERS_MAX = 3

type Answer = { readonly words: string; readonly times: number; readonly at: Moment }

/** Counts the repeated failures of a node to run a transaction. */
export type Answers = {
  /**
   * Counts the message, if blocks or time have passed since the last count. Another message restarts the
   * count.
   */
  note(transaction: Transaction, words: string): Answer
  /** Calls `ask` at the next block, or after a time if no block comes. */
  again(transaction: Transaction, ask: () => void): void
  newHead(): void
  forget(transaction: Transaction): void
  readonly size: number
}

export function createAnswers(
  context: { readonly endpointPool: Pick<EndpointPool, 'tracker'>; readonly clock: Clock },
  isOver: (transaction: Transaction) => boolean,
): Answers {
  const apart = createApart(context)
  const answers = new WeakMap<Transaction, Answer>()
  const waiting = new Map<Transaction, { readonly ask: () => void; readonly cancel: CancelTimer }>()

  function fire(transaction: Transaction): void {
    const wait = waiting.get(transaction)
    forget(transaction)
    if (wait !== undefined && !isOver(transaction)) wait.ask()
  }

  function forget(transaction: Transaction): void {
    waiting.get(transaction)?.cancel()
    waiting.delete(transaction)
  }

  return {
    note(transaction, words) {
      const plain = withoutNumbers(words)
      const before = answers.get(transaction)
      const same = before?.words === plain ? before : undefined
      if (same !== undefined && !apart.isNew(same.at)) return same
      const answer = { words: plain, times: (same?.times ?? 0) + 1, at: apart.now() }
      answers.set(transaction, answer)
      return answer
    },
    again(transaction, ask) {
      forget(transaction)
      const waitMs = apart.waitMs(answers.get(transaction)?.at ?? apart.now())
      const cancel = context.clock.setTimer(() => fire(transaction), waitMs)
      waiting.set(transaction, { ask, cancel })
      context.endpointPool.tracker.wake()
    },
    newHead() {
      for (const transaction of [...waiting.keys()]) {
        const answer = answers.get(transaction)
        if (isOver(transaction) || apart.isNew(answer?.at)) fire(transaction)
      }
    },
    forget,
    get size() {
      return waiting.size
    },
  }
}

/** Block numbers, balances and hashes in a message change from block to block. */
function withoutNumbers(words: string): string {
  return words.toLowerCase().replace(/0x[0-9a-f]+|\d+/g, '#')
}
