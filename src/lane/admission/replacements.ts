import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import type { Slot } from '../../ledger/slot.js'
import type { Tx } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import { ownTuples } from '../transaction/authorize.js'
import { bindTo, update } from '../transaction/changes.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { Withdrawals } from './withdrawals.js'

export type ReplacementsContext = {
  readonly lane: Lane
  readonly events: Emitter
  txOf(transaction: Transaction): Tx
  readonly closed: boolean
}

/**
 * Returns the function that moves a prepared replacement to the nonce of the transaction that it replaces: row
 * 22, unless that transaction has meanwhile changed its state.
 */
export function createReplacements(
  context: ReplacementsContext,
  parts: {
    readonly queued: Set<Transaction>
    readonly withdrawals: Pick<Withdrawals, 'fail' | 'remove'>
    /** Whether no nonce above this one is in use, except those of its own tuples. */
    readonly isTop: (nonce: number) => boolean
    /** The replaced transaction has ended without a nonce, so the replacement needs one of its own. */
    readonly enqueue: (transaction: Transaction) => void
  },
): (transaction: Transaction) => void {
  const { lane, events } = context
  const { queued, withdrawals } = parts

  function replaceAt(nonce: number, transaction: Transaction, replaced: Transaction): void {
    if (ownTuples(transaction.request) > 0 && !parts.isTop(nonce))
      return withdrawals.fail(transaction, notHighest(transaction))
    queued.delete(transaction)
    bindTo(transaction, nonce)
    lane.apply(nonce, { type: 'replace', claim: transaction.id, token: lane.token() })
    events.emit('replaced', { tx: context.txOf(replaced) })
  }

  function place(transaction: Transaction): void {
    const { replaces: replaced } = transaction
    const nonce = replaced?.nonce
    const slot = nonce === undefined ? undefined : lane.book.get(nonce)
    if (replaced === undefined || hasFailed(transaction) || context.closed) return
    if (nonce !== undefined && isReplaceable(slot, replaced)) return replaceAt(nonce, transaction, replaced)
    if (slot?.state === 'reserved' && slot.claim === replaced.id) {
      // A commit in flight counts as journaled. Its answer decides, so try again afterwards.
      if (!withdrawals.remove(replaced, superseded(replaced)))
        return void lane.journal.flushed().then(() => place(transaction))
    }
    if (queued.has(replaced)) withdrawals.fail(replaced, superseded(replaced))
    if (replaced.failure?.code !== 'SUPERSEDED') return withdrawals.fail(transaction, tooLate(transaction))
    if (replaced.record.supersededBy === undefined) update(replaced, { supersededBy: transaction.id })
    parts.enqueue(transaction)
  }

  return place
}

function isReplaceable(slot: Slot | undefined, { id }: Transaction): boolean {
  return slot?.state === 'live' && slot.end === undefined && slot.claims.includes(id)
}

function superseded(replaced: Transaction): TxlaneError {
  return txError(replaced, 'SUPERSEDED', 'notExecuted', 'Its replacement took its place.')
}

function notHighest(transaction: Transaction): TxlaneError {
  const message = 'The nonces that its authorizations take have been given to others.'
  return txError(transaction, 'UNSUPPORTED', 'notExecuted', message)
}

function tooLate(transaction: Transaction): TxlaneError {
  const message = 'The transaction that it was to replace has landed or ended.'
  return txError(transaction, 'TOO_LATE', 'notExecuted', message)
}
