import type { Lane } from '../../allocator/lane.js'
import type { Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { hasEnded } from '../../store/ended.js'
import type { Store } from '../../types/store.js'
import type { Order } from '../queue/order.js'
import type { NonceAssigner } from '../signing/nonceAssigner.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { dependencyError } from './conditions.js'
import type { Intake } from './intake.js'

type SequencesContext = {
  readonly lane: Lane
  readonly store: Store
  readonly clock: Clock
  readonly errors: Repeats<Error>
  readonly transactions: Map<string, Transaction>
}

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

const LOOK_AGAIN_MS = 1_000

export type SequenceParts = {
  readonly order: Pick<Order, 'ready' | 'stepAside'>
  readonly intake: () => Pick<Intake, 'waits' | 'failed'>
  readonly pump: () => NonceAssigner
}

export function createSequences(context: SequencesContext, parts: SequenceParts): Sequences {
  const { transactions, clock, store, lane } = context
  // Successors by the id of their predecessor, until they are journaled themselves.
  const next = new Map<string, Transaction>()
  const held = new Set<Transaction>()
  // Ids of reserved transactions whose bytes were handed to the journal; and the waits for that, by the same
  // id.
  const handed = new Set<string>()
  const turns = new Map<string, (() => void)[]>()

  const followed = ({ needs }: Transaction) =>
    needs?.follows === undefined ? undefined : transactions.get(needs.follows)

  function leave(transaction: Transaction): void {
    const follows = transaction.needs?.follows
    if (follows !== undefined && next.get(follows) === transaction) next.delete(follows)
    held.delete(transaction)
  }

  function fail(transaction: Transaction, why: string): void {
    if (transaction.nonce !== undefined || hasFailed(transaction)) return
    leave(transaction)
    parts.intake().failed(transaction, dependencyError(transaction, new Error(why)))
  }

  function admit(transaction: Transaction): void {
    if (!parts.intake().waits(transaction)) return
    parts.order.ready(transaction)
    parts.pump().run()
  }

  /**
   * The predecessor is not known here: it has ended, or is final. A caller may just be sending it again by
   * its id. That does not change its end, and emits no event about it.
   */
  async function look(transaction: Transaction, id: string): Promise<void> {
    const stored = await store.find(lane.key, { id })
    if (next.get(id) !== transaction) return
    const before = transactions.get(id)
    const isGone = stored ? hasEnded(stored.stage) : before === undefined
    if (isGone || (before && hasFailed(before))) return fail(transaction, endedText(id))
    if (stored === undefined || stored.stage === 'queued') return lookLater(transaction, id)
    leave(transaction)
    if (transaction.ready) admit(transaction)
  }

  /** The predecessor is about to arrive. */
  function lookLater(transaction: Transaction, id: string): void {
    clock.setTimer(() => void look(transaction, id).catch(failed(transaction, id)), LOOK_AGAIN_MS)
  }

  const failed = (transaction: Transaction, id: string) => (error: unknown) => {
    reportError(context, error)
    lookLater(transaction, id)
  }

  function hold(transaction: Transaction, behind: string): void {
    held.add(transaction)
    parts.order.stepAside(transaction, { for: 'order', behind })
  }

  function unbound(id: string): void {
    const transaction = next.get(id)
    if (transaction === undefined || !transaction.ready) return
    const { nonce } = transaction
    if (nonce !== undefined) {
      if (isUnsent(transaction)) lane.apply(nonce, { type: 'withdraw', claim: transaction.id, why: 'again' })
      return
    }
    hold(transaction, id)
  }

  function bound(id: string): void {
    const transaction = next.get(id)
    if (transaction !== undefined && held.delete(transaction)) admit(transaction)
  }

  function journaled(id: string): void {
    const own = transactions.get(id)
    if (own?.needs?.follows !== undefined) leave(own)
  }

  /** Whether it has a nonce, but none of its bytes were handed to the journal. */
  function isUnsent({ id, nonce }: Transaction): boolean {
    const slot = nonce === undefined ? undefined : lane.book.get(nonce)
    return slot?.state === 'reserved' && slot.claim === id && !handed.has(id)
  }

  function turnOver(id: string): void {
    const waiting = turns.get(id)
    turns.delete(id)
    for (const go of waiting ?? []) go()
  }

  return {
    enter(transaction) {
      const id = transaction.needs?.follows
      if (id === undefined || next.get(id) === transaction) return
      next.set(id, transaction)
      const before = transactions.get(id)
      if (before === undefined) void look(transaction, id).catch(failed(transaction, id))
      else if (hasFailed(before)) fail(transaction, endedText(id))
    },
    mayGo(transaction) {
      const id = transaction.needs?.follows
      if (id === undefined || next.get(id) !== transaction) return true
      const before = transactions.get(id)
      if (before !== undefined && before.nonce !== undefined && !hasFailed(before)) return true
      hold(transaction, id)
      if (before === undefined || hasFailed(before)) void look(transaction, id).catch(failed(transaction, id))
      return false
    },
    canReserve(transaction) {
      const before = followed(transaction)
      return before?.nonce === undefined || before.nonce < lane.next()
    },
    waitForPredecessor(transaction) {
      const before = followed(transaction)
      if (before === undefined || !isUnsent(before)) return undefined
      // A list, because an abandoned signature may still be under way, beside the one for the next nonce.
      return new Promise((resolve) => void turns.set(before.id, [...(turns.get(before.id) ?? []), resolve]))
    },
    markJournaled({ id }) {
      if (next.has(id)) handed.add(id)
      turnOver(id)
    },
    moved(before, after) {
      if (after.state === 'reserved') return bound(after.claim)
      if (before?.state !== 'reserved') return
      const { claim } = before
      handed.delete(claim)
      if (after.state === 'live') journaled(claim)
      else if (after.state === 'hole') unbound(claim)
      turnOver(claim)
    },
    unbound,
    ended({ id }) {
      const transaction = next.get(id)
      // One microtask per transaction, so that a long sequence does not recurse.
      if (transaction !== undefined) queueMicro(() => fail(transaction, endedText(id)))
    },
    before(transaction) {
      const found: Transaction[] = []
      for (let one = followed(transaction); one !== undefined && !isShown(one); one = followed(one)) {
        found.push(one)
      }
      return found.reverse()
    },
    waits(transaction) {
      const before = followed(transaction)
      return before !== undefined && !isShown(before)
    },
  }

  /** Whether the state at `pending` includes its effects. */
  function isShown(transaction: Transaction): boolean {
    const { nonce } = transaction
    return hasReached(transaction, 'preconfirmed') || (nonce !== undefined && nonce < lane.book.coveredTo)
  }
}

const endedText = (id: string) => `The transaction ${id} before it in its sequence ended.`
