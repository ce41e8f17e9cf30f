import type { Slot } from '../ledger/slot.js'
import { hasEnded } from '../store/ended.js'
import { dependencyError } from './conditions.js'
import { type LaneContext, reportError } from './context.js'
import type { Intake } from './intake.js'
import type { Line } from './line.js'
import type { Pump } from './pump.js'
import { hasFailed, hasReached, type Transaction } from './transaction.js'

/** Keeps sequences in their order: each transaction takes a nonce after the one that it follows, or ends with it. */
export type Sequences = {
  /** It is known here: from now on it ends where what it follows ends. */
  enter(transaction: Transaction): void
  /** Prepared: whether it may go in line now. Otherwise it is let in as soon as it may. */
  mayGo(transaction: Transaction): boolean
  /** Whether it may take the next nonce: none below that of what it follows, which a hole may be. */
  admits(transaction: Transaction): boolean
  /** A nonce was given to one, which lets in what follows it, or taken back. */
  moved(before: Slot | undefined, after: Slot): void
  /** It has no nonce any more: what follows it and has none either waits again. */
  unbound(id: string): void
  /** It ended without execution. */
  ended(transaction: Transaction): void
  /** Those before it that no state shows yet, in their order. */
  before(transaction: Transaction): readonly Transaction[]
  /** There are such. */
  waits(transaction: Transaction): boolean
}

const LOOK_AGAIN_MS = 1_000

export type SequenceParts = {
  readonly line: Line<Transaction>
  readonly intake: () => Pick<Intake, 'waits' | 'failed'>
  readonly pump: () => Pump
}

export function createSequences(context: LaneContext, parts: SequenceParts): Sequences {
  const { transactions, clock, store, lane } = context
  // By the id of what they follow, until they have a nonce themselves.
  const next = new Map<string, Transaction>()
  const held = new Set<Transaction>()

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
    parts.line.add(transaction)
    parts.pump().run()
  }

  /** What it follows is not known here: it has ended, or is final. */
  async function look(transaction: Transaction, id: string): Promise<void> {
    const stored = await store.find(lane.key, { id })
    if (next.get(id) !== transaction || transactions.has(id)) return
    if (stored === undefined || hasEnded(stored.stage)) return fail(transaction, endedText(id))
    if (stored.stage === 'queued') return lookLater(transaction, id)
    leave(transaction)
    if (transaction.ready) admit(transaction)
  }

  /** It is about to arrive. */
  function lookLater(transaction: Transaction, id: string): void {
    clock.setTimer(() => void look(transaction, id).catch(failed(transaction, id)), LOOK_AGAIN_MS)
  }

  const failed = (transaction: Transaction, id: string) => (error: unknown) => {
    reportError(context, error)
    lookLater(transaction, id)
  }

  function unbound(id: string): void {
    const transaction = next.get(id)
    if (transaction === undefined || !transaction.ready || transaction.nonce !== undefined) return
    held.add(transaction)
    parts.line.remove(transaction)
  }

  function bound(id: string): void {
    const own = transactions.get(id)
    if (own?.needs?.follows !== undefined) leave(own)
    const transaction = next.get(id)
    if (transaction !== undefined && held.delete(transaction)) admit(transaction)
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
      held.add(transaction)
      if (before === undefined) void look(transaction, id).catch(failed(transaction, id))
      return false
    },
    admits(transaction) {
      const before = followed(transaction)
      return before?.nonce === undefined || before.nonce < lane.next()
    },
    moved(before, after) {
      if (after.state === 'reserved') bound(after.claim)
      else if (after.state === 'hole' && before?.state === 'reserved') unbound(before.claim)
    },
    unbound,
    ended({ id }) {
      const transaction = next.get(id)
      // A turn of its own for each, however long the sequence.
      if (transaction !== undefined) queueMicrotask(() => fail(transaction, endedText(id)))
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

  /** State at `pending` holds what it did. */
  function isShown(transaction: Transaction): boolean {
    const { nonce } = transaction
    return hasReached(transaction, 'preconfirmed') || (nonce !== undefined && nonce < lane.book.coveredTo)
  }
}

const endedText = (id: string) => `The transaction ${id} before it in its sequence ended.`
