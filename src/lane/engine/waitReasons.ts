import { lastClaim } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { LaneSnapshot, Logger, Tx } from '../../types/index.js'
import type { WaitReason } from '../../types/wait.js'
import type { Emitter } from '../emitter.js'
import { reasonOf } from '../reasons/sentence.js'
import { type LaneFacts, waitCauseOf } from '../reasons/waitCause.js'
import { update } from '../transaction/changes.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { summaryOf } from '../transaction/waitingFor.js'
import { createNotices } from './notices.js'
import { createWaitFacts, type WaitFactsContext, type WaitFactsParts } from './waitFacts.js'

type WaitReasonsContext = WaitFactsContext & {
  readonly clock: Clock
  readonly logger: Logger
  readonly notice: (sentence: string) => void
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  txOf(transaction: Transaction): Tx
  readonly closed: boolean
}

/** Determines why the lane's transactions have not progressed, from the state of its parts. */
export type WaitReasons = {
  of(transaction: Transaction): WaitReason | undefined
  /**
   * The reason of the lowest nonce, or of the first queued transaction, and the number of transactions for
   * each reason.
   */
  summary(): LaneSnapshot['waiting']
  /**
   * Stores the reasons of long waits, so that another process can show them, and notifies listeners if only
   * an operator can end a wait. The check is cheap and runs at most once a second.
   */
  check(): void
}

const LOOK_MS = 1_000
/** A wait shorter than this is not reported. */
const LONG_MS = 2_000
/** Maximum number of transactions that a check covers: the lowest nonces, and the first queued ones. */
const LOOKED_AT_MAX = 128
const SUMMARY_MAX = 10_000
/** Reasons that follow from the stage are not stored, because another process can derive them. */
const PLAIN: ReadonlySet<WaitReason['for']> = new Set([
  'order',
  'block',
  'window',
  'group',
  'receipt',
  'finality',
])

export function createWaitReasons(context: WaitReasonsContext, parts: WaitFactsParts): WaitReasons {
  const { lane, endpointPool, clock, transactions, events, logger } = context
  const { book } = lane
  const facts = createWaitFacts(context, parts)
  // The current reason of each transaction, with the time at which it was noticed.
  const noticed = new WeakMap<Transaction, WaitReason>()
  const noticedAt = new WeakMap<Transaction, number>()
  let lookedMs = 0
  let alarmed: WaitReason['for'] | undefined
  const notices = createNotices(context)

  function reasonIn(laneFacts: LaneFacts, transaction: Transaction): WaitReason | undefined {
    const cause = waitCauseOf(facts.of(transaction), laneFacts)
    const before = noticed.get(transaction)
    if (cause === undefined) {
      noticed.delete(transaction)
      return undefined
    }
    // If the start of the wait is unknown, it counts from the time at which it was noticed, or from the send.
    const since = before?.for === cause.for ? before.sinceMs : sinceOf(transaction, before)
    const reason = reasonOf(cause, 'sinceMs' in cause ? (cause as WaitReason).sinceMs : since)
    if (before?.for !== cause.for) noticedAt.set(transaction, clock.now())
    noticed.set(transaction, reason)
    return reason
  }

  /**
   * The transaction has waited for the same reason for long. Measured by the monotonic clock; `sinceMs` is a
   * wall-clock time for display.
   */
  function isLong(transaction: Transaction): boolean {
    const atMs = noticedAt.get(transaction)
    return atMs !== undefined && clock.now() - atMs >= LONG_MS
  }

  function sinceOf({ record: { nonce, createdAtMs } }: Transaction, before: WaitReason | undefined): number {
    return before === undefined && nonce === undefined ? createdAtMs : clock.wallNow()
  }

  /** The transactions whose reasons explain the waits of the others. */
  function lookedAt(): readonly Transaction[] {
    const found: Transaction[] = []
    for (const slot of book.uncovered(LOOKED_AT_MAX)) {
      const claim = lastClaim(slot)
      const transaction = claim ? transactions.get(claim) : undefined
      if (transaction) found.push(transaction)
    }
    let remaining = LOOKED_AT_MAX
    for (const transaction of transactions.values()) {
      if (transaction.nonce !== undefined || hasFailed(transaction)) continue
      found.push(transaction)
      if (--remaining === 0) break
    }
    return found
  }

  function* unsealed(): Generator<readonly [Transaction, WaitReason | undefined]> {
    const laneFacts = facts.lane()
    let remaining = SUMMARY_MAX
    for (const transaction of transactions.values()) {
      if (hasReached(transaction, 'sealed')) continue
      yield [transaction, reasonIn(laneFacts, transaction)]
      if (--remaining === 0) return
    }
  }

  function keep(transaction: Transaction, reason: WaitReason | undefined): void {
    const isKept = reason !== undefined && !PLAIN.has(reason.for)
    const wanted = isKept && isLong(transaction) ? reason : undefined
    const { waiting } = transaction.record
    if (waiting?.for === wanted?.for || (isKept && wanted === undefined)) return
    update(transaction, { waiting: wanted })
    context.changed.add(transaction)
    lane.journal.touch()
  }

  /** Runs in this turn of the event loop, as far as the turn's time allows. */
  async function lookAll(): Promise<void> {
    const laneFacts = facts.lane()
    let alarming: WaitReason | undefined
    const looking = endpointPool.turns.each(lookedAt(), (transaction) => {
      if (context.closed) return
      const reason = reasonIn(laneFacts, transaction)
      keep(transaction, reason)
      if (reason !== undefined && alarming === undefined && alarm(transaction, reason)) alarming = reason
    })
    if (looking) await looking
    if (context.closed) return
    if (alarming === undefined) alarmed = undefined
    notices.check(alarming)
  }

  function alarm(transaction: Transaction, reason: WaitReason): boolean {
    if (!reason.operator || reason.for === 'hold' || !isLong(transaction)) return false
    if (alarmed === reason.for) return true
    alarmed = reason.for
    logger.warn?.({ id: transaction.id, for: reason.for }, reason.sentence)
    events.emit('waiting', { tx: context.txOf(transaction), waitingFor: reason })
    return true
  }

  return {
    of: (transaction) => reasonIn(facts.lane(), transaction),
    summary: () => summaryOf(unsealed()),
    check() {
      if (clock.now() - lookedMs < LOOK_MS) return
      lookedMs = clock.now()
      void lookAll().catch((error: unknown) => reportError(context, error))
    },
  }
}
