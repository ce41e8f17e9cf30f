import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { WaitCause } from '../../types/wait.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'

export type ParkedContext = {
  readonly lane: Pick<Lane, 'book'>
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
}

/** The transactions that wait for another state of the chain before they are prepared again. */
export type ParkedTransactions = {
  /** The transaction waits for the next sealed block, or for money. */
  park(transaction: Transaction, cause: WaitCause): void
  /**
   * The transaction waits until its predecessor is visible: an earlier estimate would be about another state.
   */
  follow(transaction: Transaction): void
  /** The transaction waits neither for a block nor for money. */
  unpark(transaction: Transaction): void
  unfollow(transaction: Transaction): void
  isAwaitingFunds(transaction: Transaction): boolean
  /** The transactions that wait for their predecessor. */
  readonly following: ReadonlySet<Transaction>
  /** All of them. */
  readonly all: readonly Transaction[]
  /** The transactions that wait for money. Some may have failed since. */
  readonly forFunds: readonly Transaction[]
  /** See `Preparer`. */
  readonly unpaid: readonly Transaction[]
  readonly size: number
}

/** Whether it waits for money, and the nonce below which all had been assigned when it stepped aside. */
type Parked = { readonly isAwaitingFunds: boolean; readonly cursor: number }

export function createParkedTransactions(
  { lane, endpointPool }: ParkedContext,
  stepAside: (transaction: Transaction, cause: WaitCause) => void,
): ParkedTransactions {
  const { book } = lane
  const parked = new Map<Transaction, Parked>()
  const following = new Set<Transaction>()

  return {
    park(transaction, cause) {
      stepAside(transaction, cause)
      parked.set(transaction, { isAwaitingFunds: cause.for === 'funds', cursor: book.cursor })
      endpointPool.tracker.wake()
    },
    follow(transaction) {
      stepAside(transaction, { for: 'order', behind: transaction.record.needs?.follows })
      following.add(transaction)
      endpointPool.tracker.wake()
    },
    unpark: (transaction) => void parked.delete(transaction),
    unfollow: (transaction) => void following.delete(transaction),
    isAwaitingFunds: (transaction) => parked.get(transaction)?.isAwaitingFunds === true,
    following,
    get all() {
      return [...parked.keys(), ...following]
    },
    get forFunds() {
      return [...parked].filter(([, { isAwaitingFunds }]) => isAwaitingFunds).map(([one]) => one)
    },
    get unpaid() {
      const isDue = ({ isAwaitingFunds, cursor }: Parked) => isAwaitingFunds && book.floor >= cursor
      return [...parked]
        .filter(([one, why]) => one.record.starved && isDue(why) && !hasFailed(one))
        .map(([one]) => one)
    },
    get size() {
      return parked.size + following.size
    },
  }
}
