import type { TxlaneError } from '../../errors/base.js'
import type { Slot } from '../../ledger/slot.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Order } from '../queue/order.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { dependencyError } from './conditions.js'
import { createJournalOrder } from './journalOrder.js'
import { createPredecessorLookup, type PredecessorLookupContext } from './predecessorLookup.js'
import { createPredecessorState } from './predecessorState.js'

/**
 * Keeps sequences in their order. Each transaction takes a nonce after its predecessor, is journaled no
 * sooner than it, and ends with it. The journaled part of a sequence is always its beginning: if a signature
 * fails or the process crashes, no transaction is left behind whose place has been taken.
 */
export type Sequences = {
  /** The transaction is known here. From now on it ends if its predecessor ends. */
  enter(transaction: Transaction): void
  /**
   * Whether a prepared transaction may join the pending queue now. Otherwise it is added as soon as it may.
   */
  mayGo(transaction: Transaction): boolean
  /**
   * Whether the transaction may take the next nonce, which may be a hole: the nonce must be above its
   * predecessor's.
   */
  canReserve(transaction: Transaction): boolean
  /**
   * Resolves when the predecessor's bytes were handed to the journal, or never will be. Undefined if there is
   * nothing to wait for.
   */
  waitForPredecessor(transaction: Transaction): Promise<void> | undefined
  /** The bytes of the transaction were handed to the journal. */
  markJournaled(transaction: Transaction): void
  /** A nonce was assigned, which admits the successor, or taken back. */
  moved(before: Slot | undefined, after: Slot): void
  /**
   * The transaction lost its nonce. Its successor waits again, and gives its own nonce back if none of its
   * bytes are journaled.
   */
  unbound(id: string): void
  /** The transaction ended without execution. */
  ended(transaction: Transaction): void
  /** Its predecessors that are not visible in any state yet, in their order. */
  before(transaction: Transaction): readonly Transaction[]
  /** Whether its predecessor is not visible in any state yet. */
  waits(transaction: Transaction): boolean
}

export type SequenceParts = {
  readonly order: Pick<Order, 'ready' | 'stepAside'>
  /** Whether the transaction still waits for its nonce in this lane. */
  readonly waits: (transaction: Transaction) => boolean
  readonly failed: (transaction: Transaction, error: TxlaneError) => void
  /** A transaction may take a nonce now. */
  readonly freed: () => void
}

export function createSequences(context: PredecessorLookupContext, parts: SequenceParts): Sequences {
  const { transactions, lane } = context
  // Successors by the id of their predecessor, until they are journaled themselves.
  const next = new Map<string, Transaction>()
  const held = new Set<Transaction>()
  const predecessors = createPredecessorState(lane, transactions)
  const journal = createJournalOrder(lane)
  const lookUp = createPredecessorLookup(context, {
    isWaiting: (transaction, id) => next.get(id) === transaction,
    endedBefore,
    released(transaction) {
      leave(transaction)
      if (transaction.ready) admit(transaction)
    },
  })

  function leave(transaction: Transaction): void {
    const follows = transaction.record.needs?.follows
    if (follows !== undefined && next.get(follows) === transaction) next.delete(follows)
    held.delete(transaction)
  }

  function endedBefore(transaction: Transaction, id: string): void {
    if (transaction.nonce !== undefined || hasFailed(transaction)) return
    leave(transaction)
    const cause = new Error(`The transaction ${id} before it in its sequence ended.`)
    parts.failed(transaction, dependencyError(transaction, cause))
  }

  function admit(transaction: Transaction): void {
    if (!parts.waits(transaction)) return
    parts.order.ready(transaction)
    parts.freed()
  }

  function hold(transaction: Transaction, behind: string): void {
    held.add(transaction)
    parts.order.stepAside(transaction, { for: 'order', behind })
  }

  function unbound(id: string): void {
    const successor = next.get(id)
    if (successor === undefined || !successor.ready) return
    const { nonce } = successor
    if (nonce === undefined) return hold(successor, id)
    if (journal.isUnsent(successor))
      lane.apply(nonce, { type: 'withdraw', claim: successor.id, why: 'again' })
  }

  function bound(id: string): void {
    const successor = next.get(id)
    if (successor !== undefined && held.delete(successor)) admit(successor)
  }

  function journaled(id: string): void {
    const own = transactions.get(id)
    if (own?.record.needs?.follows !== undefined) leave(own)
  }

  return {
    enter(transaction) {
      const id = transaction.record.needs?.follows
      if (id === undefined || next.get(id) === transaction) return
      next.set(id, transaction)
      const before = transactions.get(id)
      if (before === undefined) lookUp(transaction, id)
      else if (hasFailed(before)) endedBefore(transaction, id)
    },
    mayGo(transaction) {
      const id = transaction.record.needs?.follows
      if (id === undefined || next.get(id) !== transaction) return true
      const before = transactions.get(id)
      if (before !== undefined && before.nonce !== undefined && !hasFailed(before)) return true
      hold(transaction, id)
      if (before === undefined || hasFailed(before)) lookUp(transaction, id)
      return false
    },
    canReserve(transaction) {
      const before = predecessors.of(transaction)
      return before?.nonce === undefined || before.nonce < lane.next()
    },
    waitForPredecessor(transaction) {
      const before = predecessors.of(transaction)
      return before && journal.waitFor(before)
    },
    markJournaled({ id }) {
      if (next.has(id)) journal.mark(id)
      journal.release(id)
    },
    moved(before, after) {
      if (after.state === 'reserved') return bound(after.claim)
      if (before?.state !== 'reserved') return
      const { claim } = before
      journal.forget(claim)
      if (after.state === 'live') journaled(claim)
      else if (after.state === 'hole') unbound(claim)
      journal.release(claim)
    },
    unbound,
    ended({ id }) {
      const successor = next.get(id)
      // One microtask per transaction, so that a long sequence does not recurse.
      if (successor !== undefined) queueMicro(() => endedBefore(successor, id))
    },
    before: predecessors.before,
    waits: predecessors.waits,
  }
}
