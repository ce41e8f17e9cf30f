import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import type { Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { hasEnded } from '../../store/ended.js'
import type { Store } from '../../types/store.js'
import type { Order } from '../queue/order.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'

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

type SequencesContext = {
  readonly lane: Lane
  readonly store: Store
  readonly clock: Clock
  readonly errors: Repeats<Error>
  readonly transactions: ReadonlyMap<string, Transaction>
}

export function createSequences(context: SequencesContext, parts: SequenceParts): Sequences {
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

/** The error of a transaction whose predecessor ended without the wanted result. */
export function dependencyError(transaction: Transaction, cause: unknown): TxlaneError {
  return txError(
    transaction,
    'DEPENDENCY',
    'notExecuted',
    'A transaction that it depends on did not succeed.',
    cause,
  )
}

/** The predecessors of transactions in a sequence, and whether a state shows their effects. */
type PredecessorState = {
  /** The predecessor, if it is known here. */
  of(transaction: Transaction): Transaction | undefined
  /** Its predecessors that are not visible in any state yet, in their order. */
  before(transaction: Transaction): readonly Transaction[]
  /** Whether its predecessor is not visible in any state yet. */
  waits(transaction: Transaction): boolean
}

function createPredecessorState(
  { book }: Pick<Lane, 'book'>,
  transactions: ReadonlyMap<string, Transaction>,
): PredecessorState {
  const of = ({ record: { needs } }: Transaction) =>
    needs?.follows === undefined ? undefined : transactions.get(needs.follows)

  /** Whether the state at `pending` includes its effects. */
  function isShown(transaction: Transaction): boolean {
    const { nonce } = transaction
    return hasReached(transaction, 'preconfirmed') || (nonce !== undefined && nonce < book.coveredTo)
  }

  return {
    of,
    before(transaction) {
      const found: Transaction[] = []
      for (let one = of(transaction); one !== undefined && !isShown(one); one = of(one)) found.push(one)
      return found.reverse()
    },
    waits(transaction) {
      const before = of(transaction)
      return before !== undefined && !isShown(before)
    },
  }
}

const LOOK_AGAIN_MS = 1_000

/** Returns the function that looks up, in the store, a predecessor that is not known here. */
function createPredecessorLookup(
  context: SequencesContext,
  parts: {
    /** Whether the transaction still waits for the predecessor with this id. */
    readonly isWaiting: (transaction: Transaction, id: string) => boolean
    /** The predecessor has ended without execution. */
    readonly endedBefore: (transaction: Transaction, id: string) => void
    /** The predecessor has executed, or will. */
    readonly released: (transaction: Transaction) => void
  },
): (transaction: Transaction, id: string) => void {
  const { store, lane, clock, transactions } = context

  /**
   * The predecessor is not known here: it has ended, or is final. A caller may just be sending it again by its
   * id. That does not change its end, and emits no event about it.
   */
  async function look(transaction: Transaction, id: string): Promise<void> {
    const stored = await store.find(lane.key, { id })
    if (!parts.isWaiting(transaction, id)) return
    const before = transactions.get(id)
    const isGone = stored ? hasEnded(stored.stage) : before === undefined
    if (isGone || (before && hasFailed(before))) return parts.endedBefore(transaction, id)
    // The predecessor is about to arrive.
    if (stored === undefined || stored.stage === 'queued') return lookLater(transaction, id)
    parts.released(transaction)
  }

  function lookLater(transaction: Transaction, id: string): void {
    clock.setTimer(() => start(transaction, id), LOOK_AGAIN_MS)
  }

  function start(transaction: Transaction, id: string): void {
    void look(transaction, id).catch((error: unknown) => {
      reportError(context, error)
      lookLater(transaction, id)
    })
  }

  return start
}

/** Lets successors wait until the bytes of their predecessor were handed to the journal. */
type JournalOrder = {
  /** Whether the transaction has a nonce, but none of its bytes were handed to the journal. */
  isUnsent(transaction: Transaction): boolean
  /** Resolves when the transaction is not unsent any more. Undefined if it is not unsent now. */
  waitFor(transaction: Transaction): Promise<void> | undefined
  /** The bytes of a transaction with a successor were handed to the journal. */
  mark(id: string): void
  /** Resolves the waits for the transaction. */
  release(id: string): void
  /** The transaction is not reserved any more. */
  forget(id: string): void
}

function createJournalOrder({ book }: Pick<Lane, 'book'>): JournalOrder {
  // Ids of reserved transactions whose bytes were handed to the journal.
  const handed = new Set<string>()
  // The waits for the bytes of a predecessor, by its id. An id may have several: an abandoned signature may still be
  // under way beside the signature for the next nonce.
  const waits = new Map<string, (() => void)[]>()

  function isUnsent({ id, nonce }: Transaction): boolean {
    const slot = nonce === undefined ? undefined : book.get(nonce)
    return slot?.state === 'reserved' && slot.claim === id && !handed.has(id)
  }

  return {
    isUnsent,
    waitFor(transaction) {
      if (!isUnsent(transaction)) return undefined
      const { id } = transaction
      return new Promise((resolve) => void waits.set(id, [...(waits.get(id) ?? []), resolve]))
    },
    mark: (id) => void handed.add(id),
    release(id) {
      const waiting = waits.get(id)
      if (waiting === undefined) return
      waits.delete(id)
      for (const resolve of waiting) resolve()
    },
    forget: (id) => void handed.delete(id),
  }
}
