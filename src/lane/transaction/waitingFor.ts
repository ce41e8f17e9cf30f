import { quoteOf } from '../../errors/quote.js'
import type { LaneSnapshot } from '../../types/index.js'
import type { WaitReason } from '../../types/wait.js'
import { reasonOf } from '../reasons/sentence.js'
import { isTimely, type TxFacts, waitCauseByStage } from '../reasons/waitCause.js'
import { hasFailed, hasReached, type Transaction } from './transaction.js'

/** The reason that the lease owner has stored, otherwise the one that follows from the stage. */
export function storedReason(transaction: Transaction): WaitReason | undefined {
  const ended = endedOf(transaction)
  const { unresolved, record } = transaction
  const { waiting, stage, hash, createdAtMs } = record
  if (waiting !== undefined && ended === 'no' && !unresolved && isTimely(waiting, record)) return waiting
  const cause = waitCauseByStage({
    stage,
    ended,
    unresolved,
    hash,
    wanted: wantedOf(transaction),
    receiptSaid: receiptSaidOf(transaction),
  })
  return cause && reasonOf(cause, createdAtMs)
}

export function endedOf(transaction: Transaction): TxFacts['ended'] {
  if (!hasFailed(transaction)) return 'no'
  return transaction.endPersisted ? 'reported' : 'unreported'
}

/** The stage beyond a sealed block, or the receipt, for which a caller waits. */
export function wantedOf(transaction: Transaction): TxFacts['wanted'] {
  if (!hasReached(transaction, 'sealed')) return undefined
  for (const { stage } of transaction.waiters ?? [])
    if (stage === 'safe' || stage === 'finalized') return stage
  return transaction.missingReceipt === undefined ? undefined : 'receipt'
}

export function receiptSaidOf({ missingReceipt }: Transaction): string | undefined {
  const [said] = missingReceipt?.said.values() ?? []
  return said === undefined ? undefined : quoteOf(said)
}

/**
 * The reason of the lowest nonce, or of the first transaction in call order, and the number of transactions
 * for each reason: that reason first, then the most frequent ones.
 */
export function summaryOf(
  all: Iterable<readonly [Transaction, WaitReason | undefined]>,
): LaneSnapshot['waiting'] {
  const counts = new Map<WaitReason['for'], number>()
  let head: { readonly transaction: Transaction; readonly reason: WaitReason } | undefined
  for (const [transaction, reason] of all) {
    if (reason === undefined) continue
    counts.set(reason.for, (counts.get(reason.for) ?? 0) + 1)
    if (head === undefined || isBefore(transaction, head.transaction)) head = { transaction, reason }
  }
  if (head === undefined) return { head, by: {} }
  const first = head.reason.for
  const by = [...counts].sort(
    ([one, many], [other, more]) => Number(other === first) - Number(one === first) || more - many,
  )
  return { head: { id: head.transaction.id, ...head.reason }, by: Object.fromEntries(by) }
}

/** Lowest nonce first, then call order. */
function isBefore(one: Transaction, other: Transaction): boolean {
  if (one.nonce !== undefined || other.nonce !== undefined)
    return (one.nonce ?? Number.POSITIVE_INFINITY) < (other.nonce ?? Number.POSITIVE_INFINITY)
  return one.sequence < other.sequence
}
