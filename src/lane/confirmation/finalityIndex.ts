import type { TxlaneError } from '../../errors/base.js'
import { moveTo } from '../transaction/changes.js'
import type { Transaction, WallClock } from '../transaction/transaction.js'
import { rejectWaitersFor } from '../transaction/waiters.js'

/** Transactions in sealed blocks, on their way to `safe` and `finalized`. */
export type FinalityIndex = {
  add(transaction: Transaction): void
  /** The transaction's block left the chain. */
  remove(transaction: Transaction): void
  advance(
    safe: number | 'absent' | undefined,
    finalized: number | 'absent' | undefined,
    horizon: number,
    /**
     * Whether the block that used a nonce is known to be canonical. A transaction in any other block waits.
     */
    stands: (nonce: number) => boolean,
    clock: WallClock,
  ): void
  /** Rejects the callers that wait for a tag which the endpoint does not have. */
  refuse(tag: 'safe' | 'finalized', error: (transaction: Transaction) => TxlaneError): void
  readonly size: number
}

export function createFinalityIndex(done: (transaction: Transaction) => void): FinalityIndex {
  const byBlock = new Map<number, Set<Transaction>>()
  let size = 0

  function passed(limit: number | 'absent' | undefined): [number, Set<Transaction>][] {
    return typeof limit === 'number' ? [...byBlock].filter(([number]) => number <= limit) : []
  }

  return {
    add(transaction) {
      const number = transaction.walkedBlock?.number
      if (number === undefined) return
      const found = byBlock.get(number) ?? new Set()
      byBlock.set(number, found)
      if (!found.has(transaction)) size++
      found.add(transaction)
    },
    remove(transaction) {
      const number = transaction.walkedBlock?.number ?? -1
      const found = byBlock.get(number)
      if (found?.delete(transaction)) size--
      if (found?.size === 0) byBlock.delete(number)
    },
    advance(safe, finalized, horizon, stands, clock) {
      const sure = ({ nonce }: Transaction) => nonce === undefined || stands(nonce)
      for (const [, transactions] of passed(safe)) {
        for (const transaction of transactions)
          if (transaction.stage === 'sealed' && sure(transaction)) moveTo(transaction, 'safe', clock)
      }
      // Nothing is tracked beyond the horizon, whether the chain has a `finalized` tag or not.
      const limit = Math.max(typeof finalized === 'number' ? finalized : -1, horizon)
      for (const [number, transactions] of passed(limit)) {
        for (const transaction of [...transactions].filter(sure)) {
          transactions.delete(transaction)
          size--
          moveTo(transaction, 'finalized', clock)
          done(transaction)
        }
        if (transactions.size === 0) byBlock.delete(number)
      }
    },
    refuse(tag, error) {
      for (const transactions of byBlock.values()) {
        for (const transaction of transactions) {
          if (transaction.waiters?.some(({ stage }) => stage === tag))
            rejectWaitersFor(transaction, tag, error(transaction))
        }
      }
    },
    get size() {
      return size
    },
  }
}
