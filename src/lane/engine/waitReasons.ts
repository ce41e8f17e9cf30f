import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { refusalOf } from '../../errors/quote.js'
import type { Book } from '../../ledger/book.js'
import { lastClaim, newestAttempt } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { LaneSnapshot, Logger, Tx } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import type { WaitReason } from '../../types/wait.js'
import type { Broadcaster } from '../broadcast/broadcast.js'
import type { Emitter } from '../emitter.js'
import type { GroupBounds } from '../queue/groups.js'
import type { Order } from '../queue/order.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import { reasonOf } from '../reasons/sentence.js'
import { type LaneFacts, type TxFacts, waitCauseOf } from '../reasons/waitCause.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Funds } from '../signing/funds.js'
import { update } from '../transaction/changes.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { endedOf, receiptSaidOf, summaryOf, wantedOf } from '../transaction/waitingFor.js'
import { createNotices } from './notices.js'

type WaitReasonsContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'senders' | 'tracker' | 'turns'>
  readonly fees: FeeOracle
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
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

type WaitReasonsParts = {
  readonly order: Pick<Order, 'reasonFor'>
  readonly queue: PendingQueue<Transaction>
  readonly funds: Pick<Funds, 'shortWei' | 'balanceWei'>
  readonly bounds: Pick<GroupBounds, 'boundOf'>
  readonly broadcaster: Pick<Broadcaster, 'hasRoom' | 'window'>
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

export function createWaitReasons(context: WaitReasonsContext, parts: WaitReasonsParts): WaitReasons {
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

/** The state of a lane and of its transactions, as far as it explains a wait. */
type WaitFacts = {
  lane(): LaneFacts
  of(transaction: Transaction): TxFacts
}

function createWaitFacts(context: WaitReasonsContext, parts: WaitReasonsParts): WaitFacts {
  const { lane, endpointPool, fees, handedOff } = context
  const { book, holds } = lane
  const { order, queue, funds, bounds, broadcaster } = parts

  function laneFacts(): LaneFacts {
    const [sender = endpointPool.reader] = endpointPool.senders()
    const first = queue.peek()
    return {
      holds: holds.list(),
      holdDetails: holds.details(),
      feesKnown: first === undefined || fees.known(first.record),
      hasRoom: broadcaster.hasRoom,
      window: { size: broadcaster.window, uncovered: book.cursor - book.coveredTo },
      shortWei: funds.shortWei,
      balanceWei: funds.balanceWei,
      head: endpointPool.tracker.head?.number,
      baseFeeWei: fees.baseFee(),
      floor: book.floor,
      lowestOpen: lowestOpenIn(book),
      lowestUncommitted: book.lowestUncommitted(),
      reader: { name: endpointPool.reader.port.name, said: endpointPool.reader.trouble?.said },
      sender: { name: sender.port.name, said: sender.gate.restReason ?? sender.trouble?.said },
    }
  }

  function factsOf(transaction: Transaction): TxFacts {
    const { id, stage, nonce, hash, unresolved, ready, notes, enqueuing } = transaction
    const refusal = notes?.refusal
    return {
      id,
      stage,
      nonce,
      hash,
      ended: endedOf(transaction),
      unresolved,
      isStored: enqueuing === undefined && !handedOff.has(transaction),
      aside: order.reasonFor(transaction),
      ready,
      group: groupCause(transaction, bounds),
      behind: queue.ahead(transaction)?.id,
      slot: nonce === undefined ? undefined : book.get(nonce),
      refusal: refusal === undefined ? undefined : refusalOf(refusal),
      wanted: wantedOf(transaction),
      receiptSaid: receiptSaidOf(transaction),
    }
  }

  return { lane: laneFacts, of: factsOf }
}

/** The lowest nonce that is not covered, or whose newest attempt no endpoint has accepted. */
function lowestOpenIn(book: Book): number {
  let nonce = Math.max(book.floor, book.coveredTo)
  for (; nonce < book.cursor; nonce++) {
    const slot = book.get(nonce)
    if (slot?.state === 'used' || slot?.state === 'final') continue
    if (slot?.state !== 'live' || newestAttempt(slot)?.accepted !== true) break
  }
  return nonce
}

function groupCause(transaction: Transaction, bounds: Pick<GroupBounds, 'boundOf'>): TxFacts['group'] {
  const { group, nonce } = transaction
  if (group === undefined || nonce !== undefined) return undefined
  const bound = bounds.boundOf(transaction)
  return bound && { for: 'group', group, bound }
}
