import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import {
  isRefusedForGood,
  type Live,
  newestAttempt,
  type Outside,
  type Slot,
  wantedClaim,
} from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { Limits, Logger } from '../../types/index.js'
import { isOutsideId } from '../../validate/stageOrder.js'
import type { Broadcaster } from '../broadcast/broadcast.js'
import type { Emitter } from '../emitter.js'
import { block } from '../signing/block.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Signing } from '../signing/signing.js'
import { describeAboveCeiling } from '../transaction/dear.js'
import type { Transaction } from '../transaction/transaction.js'

type RepairContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly logger: Logger
  readonly events: Emitter
  readonly fees: FeeOracle
  signer: LocalAccount | undefined
  readonly transactions: Map<string, Transaction>
  blockedAt: number
}

/**
 * Detects transactions that make no progress: nonces that are not covered although blocks go by, and gaps
 * that no transaction fills. Bytes that were lost on their way are re-sent by the delivery instead. The
 * repair runs under every hold.
 */
export type Repair = {
  /** Bytes of this nonce were sent to an endpoint, so that its waiting time starts over. */
  sent(nonce: number): void
  /**
   * Repairs nonces that made no progress for too long, each at most once in a configured number of sealed
   * blocks.
   */
  ticked(): void
  /**
   * The fees that may be offered have changed, so that the next tick checks transactions that wait for a
   * higher price.
   */
  feesChanged(): void
  /** There may be a hole below the cursor. */
  watchGaps(): void
  stop(): void
}

/**
 * Patience for a nonce that only a count assigns to another sender. It is longer because a no-op takes the
 * nonce: the unknown transaction may be priced below the market, and a count that is too high may last for
 * some seconds.
 */
const SUPPOSED_STUCK_MS = 15_000

/**
 * If a pool has the head, it may have a reason to wait, such as a queue of transactions that pay more. The
 * head then gets this multiple of the blocks that a head in no pool gets.
 */
const POOLED_PATIENCE = 4

/** This lane cannot outbid a transaction that outside code signed. */
const NOT_OURS = { atCeiling: false, fillable: false, aboveCeiling: undefined }

/**
 * Some nodes make a block only for a transaction, so that no block shows a lack of progress. After this time
 * without a sealed block, transactions of outside code, or of assumed other senders, are checked by time. The
 * pauses double, because a halted chain must not drive fees up.
 */
const QUIET_MS_MIN = 10_000
const QUIET_BLOCKS = 3
const QUIET_BLOCK_MS_MAX = 20_000
const QUIET_MS_MAX = 300_000

type Sent = { readonly block: number; readonly atMs: number }

export function createRepair(options: {
  context: RepairContext
  signing: Signing
  broadcaster: () => Pick<Broadcaster, 'delivers' | 'holdsBack' | 'isStranded'>
  /** A transaction is ready that will take the lowest hole. */
  fillable: () => boolean
  /** Nonces below it are used. Their use is being investigated, and more bytes would not help them. */
  usedBelow: () => number
  /** The nonce is reserved for the tuples of a transaction at a lower nonce. */
  keeps: (nonce: number) => boolean
  /** The node counts another sender's transaction at this nonce. */
  covers: (nonce: number) => boolean
  /** A transaction still needs a nonce. */
  waits: () => boolean
}): Repair {
  const { context, signing } = options
  const { lane, limits, clock, endpointPool, fees } = context
  const sentAt = new NonceMap<Sent>()
  let latest: Sent = { block: 0, atMs: 0 }
  // The lowest nonce that is not covered, and the time since which it is the lowest. The nonces above wait
  // for it.
  let lowest: { readonly nonce: number; readonly since: Sent } | undefined
  let quiet: { block: number | undefined; sinceMs: number; pauseMs: number } = {
    block: undefined,
    sinceMs: 0,
    pauseMs: 0,
  }
  // The transaction that the next block could include and that a pool has: its last send, and the time since
  // which it is the next one.
  let pooled: { nonce: number; sent: Sent | undefined; from: Sent } | undefined
  let gapTimer: CancelTimer | undefined
  let haveFeesChanged = false
  let gapSinceMs: number | undefined

  /** Returns one shared object for all sends of the same millisecond. */
  function now(): Sent {
    const { number: block = 0 } = endpointPool.tracker.head ?? {}
    const atMs = Math.floor(clock.now())
    if (latest.block !== block || latest.atMs !== atMs) latest = { block, atMs }
    return latest
  }

  /** Only a count says that another sender has used the nonce. */
  function isSupposed(nonce: number): boolean {
    return !lane.book.slots.has(nonce)
  }

  /**
   * Both conditions must hold: blocks without the transaction, and elapsed time, since blocks may arrive in a
   * burst. One block is enough to re-send the same bytes, which costs nothing; a bump takes more patience.
   */
  function isStuck({ nonce, ...slot }: Slot): boolean {
    const sent = sentAt.get(nonce)
    if (sent === undefined) {
      // The nonce was restored, seeded or never sent, so that its time begins now.
      sentAt.set(nonce, now())
      return false
    }
    const since = lowest?.nonce === nonce && lowest.since.atMs > sent.atMs ? lowest.since : sent
    const { block, atMs } = now()
    const isPatient = isSupposed(nonce) || (slot.state === 'live' && slot.nudged)
    const afterMs = isSupposed(nonce) ? SUPPOSED_STUCK_MS : limits.stuckAfterMs
    const blocks = isPatient ? limits.stuckAfterBlocks : 1
    return (
      blocksBetween(since.block, block) >= blocks &&
      atMs - since.atMs >= Math.max(afterMs, limits.stuckAfterMs)
    )
  }

  /**
   * Above the lowest nonce that is not covered, a nonce is checked only for problems that another send of the
   * same bytes does not solve: missing bytes, a price below the base fee, a refusal, or a higher bid by
   * another sender.
   */
  function isConcerned(slot: Slot): boolean {
    if (slot.nonce === lowest?.nonce || slot.nonce === lane.book.floor || slot.state !== 'live') return true
    const isLacking = newestAttempt(slot)?.claim !== wantedClaim(slot)
    return isLacking || slot.displaced || slot.refusals > 0 || !priced(slot)
  }

  /**
   * A no-op at a nonce that only a count assigns to another sender is paid for only while a count still says
   * so, while something of this lane waits for the nonce, and while no operator has to compare the store with
   * the chain.
   */
  function mayFill({ nonce, origin }: Outside): boolean {
    if (origin !== 'seeded') return false
    if (!isSupposed(nonce)) return true
    const isInTheWay = lane.book.cursor > lane.book.supposedTo || options.waits()
    return isInTheWay && options.covers(nonce) && !lane.holds.has('storeBehindChain')
  }

  /** No block was sealed during the pause, and transactions were in flight all the time. */
  function isQuiet(open: readonly Slot[]): boolean {
    const { head, blockMs = 0 } = endpointPool.tracker
    const atMs = clock.now()
    if (open.length === 0 || head?.number !== quiet.block) {
      const pauseMs = Math.max(QUIET_MS_MIN, QUIET_BLOCKS * Math.min(blockMs, QUIET_BLOCK_MS_MAX))
      quiet = { block: head?.number, sinceMs: atMs, pauseMs }
      return false
    }
    return atMs - quiet.sinceMs >= quiet.pauseMs
  }

  /** A transaction was repaired by time, so that the next pause is twice as long. */
  function pauseLonger(open: readonly Slot[]): void {
    quiet = { ...quiet, sinceMs: clock.now(), pauseMs: Math.min(QUIET_MS_MAX, quiet.pauseMs * 2) }
    context.logger.warn?.(
      { block: quiet.block, open: open.length, lowest: open[0]?.nonce },
      'no block was sealed for a while, with transactions in flight: they are sent again',
    )
  }

  /** The nonce was sent to an endpoint, or first seen, at least `ms` ago. */
  function stood(nonce: number, ms: number): boolean {
    const since = sentAt.get(nonce)
    return since !== undefined && clock.now() - since.atMs >= ms
  }

  /**
   * The lack of blocks shortens no patience, because a head that does not join the chain is no sealed block
   * either.
   */
  const quietMs = (nonce: number): number => (isSupposed(nonce) ? SUPPOSED_STUCK_MS : QUIET_MS_MIN)

  /** `byTime`: the repair is due by time, and no block shows a lack of progress. */
  function nudge(slot: Slot, head: boolean, byTime: boolean): void {
    const signer = context.signer !== undefined
    sentAt.set(slot.nonce, now())
    const event = { type: 'stuck' as const, head, signer, token: lane.token() }
    if (slot.state === 'outside') {
      lane.apply(slot.nonce, { ...event, atCeiling: false, priced: true, fillable: true })
    } else if (slot.state === 'live') {
      const outside = isOutside(slot)
      const newest = newestAttempt(slot)
      // Without `coveredTo` the nonce would not be here: a pool has it, and blocks prefer other transactions.
      const isPriced = slot.nonce >= lane.book.coveredTo && priced(slot)
      // Without blocks nothing shows that the price is too low, so that only the same bytes are sent again.
      const mayBid = !byTime || !isPriced || slot.refusals > 0
      const { aboveCeiling, ...ceilings } = outside || byTime ? NOT_OURS : signing.ceilings(slot)
      // A no-op that no endpoint accepts and that cannot offer more is only sent again, and nothing lands
      // above it.
      if (newest && newest.claim === undefined && ceilings.atCeiling && !newest.accepted)
        block(context, slot.nonce, aboveCeiling && describeAboveCeiling(aboveCeiling))
      // Bytes that outside code signed can only be sent again, not bumped.
      lane.apply(slot.nonce, {
        ...event,
        ...ceilings,
        priced: isPriced,
        signer: signer && mayBid && !outside,
      })
    }
  }

  /** Row 20 does not wait for a block, because none may come while the head is refused. */
  function isGivenUp(slot: Live): boolean {
    return isRefusedForGood(slot) && context.signer !== undefined && !isOutside(slot)
  }

  function isOutside(slot: Live): boolean {
    const claim = newestAttempt(slot)?.claim
    return claim !== undefined && isOutsideId(claim) && context.transactions.has(claim)
  }

  function priced(slot: Live): boolean {
    const newest = newestAttempt(slot)
    const baseFee = fees.baseFee()
    if (newest === undefined || baseFee === undefined) return true
    return ('gasPrice' in newest.fees ? newest.fees.gasPrice : newest.fees.maxFeePerGas) >= baseFee
  }

  /** A block would include it at a higher price, or has skipped it since its bytes were sent again. */
  function isWaitingForPrice(slot: Live, head: boolean): boolean {
    return !priced(slot) || (head && slot.nudged)
  }

  /**
   * The next transaction that a block could include, if a pool counts it and its price is too low: it is
   * below the base fee, or blocks preferred others. All higher nonces wait for it. For another sender's
   * transaction only the blocks show that.
   */
  function underpricedHead(): Slot[] {
    const { book } = lane
    const slot = book.floor < book.coveredTo ? book.get(book.floor) : undefined
    const isOpen = slot?.state === 'outside' || (slot?.state === 'live' && slot.preconfirmed === undefined)
    if (!isOpen) {
      pooled = undefined
      return []
    }
    const { nonce } = slot
    const sent = sentAt.get(nonce)
    const { block, atMs } = now()
    // A head that is lower than before shows nothing about the contents of blocks.
    if (pooled?.nonce !== nonce || pooled.sent !== sent || block < pooled.from.block)
      pooled = { nonce, sent, from: now() }
    const hasStood =
      block - pooled.from.block >= POOLED_PATIENCE * limits.stuckAfterBlocks &&
      atMs - pooled.from.atMs >= POOLED_PATIENCE * limits.stuckAfterMs
    return hasStood || (slot.state === 'live' && !priced(slot)) ? [slot] : []
  }

  function checkGaps(): void {
    gapTimer = undefined
    const hole = lane.book.lowestHole()
    if (hole === undefined) {
      gapSinceMs = undefined
      return
    }
    const waiting = options.fillable()
    const due = clock.now() - (gapSinceMs ?? clock.now()) >= limits.gapFillAfterMs
    if (due && context.signer !== undefined && !waiting) fillGaps()
    if (lane.book.lowestHole() !== undefined) plan()
    else gapSinceMs = undefined
  }

  /** Row 2, lowest first. Without a signer a gap can only be reported. */
  function fillGaps(): void {
    for (let filled = 0; filled < limits.fillsMax; filled++) {
      const nonce = lane.book.lowestHole()
      if (nonce === undefined) return
      lane.apply(nonce, {
        type: 'gapTimer',
        boundAbove: nonce < lane.book.cursor,
        waiting: false,
        token: lane.token(),
      })
      if (lane.book.lowestHole() === nonce) return
      context.events.emit('gap', { nonce })
    }
  }

  function plan(): void {
    gapTimer ??= clock.setTimer(checkGaps, limits.gapFillAfterMs)
  }

  return {
    sent: (nonce) => void sentAt.set(nonce, now()),
    ticked() {
      const { floor } = lane.book
      // The keys are in the order of the first send, which is the order of nonces, so that used nonces come
      // first.
      for (const nonce of sentAt.keys()) {
        if (nonce >= floor) break
        sentAt.delete(nonce)
      }
      const uncovered = lane.book.uncovered(limits.resendMax)
      const [first] = uncovered
      if (lowest?.nonce !== first?.nonce) lowest = first && { nonce: first.nonce, since: now() }
      const open = [...underpricedHead(), ...uncovered]
      const silent = isQuiet(open)
      let isByTime = false
      for (const slot of open) {
        const { nonce } = slot
        if (nonce < options.usedBelow() || options.keeps(nonce) || !isConcerned(slot)) continue
        if (slot.state === 'outside' && !mayFill(slot)) continue
        // The nonce was not sent yet, which explains the lack of progress.
        if (options.broadcaster().holdsBack(nonce)) continue
        const head = nonce === floor
        const unpriced = head && slot.state === 'live' && !priced(slot)
        const refused = head && slot.state === 'live' && isGivenUp(slot)
        const stranded = head && options.broadcaster().isStranded(nonce) && stood(nonce, limits.stuckAfterMs)
        const repriced = haveFeesChanged && slot.state === 'live' && isWaitingForPrice(slot, head)
        const byBlocks =
          refused || stranded || repriced || isStuck(slot) || (unpriced && stoodOneBlock(nonce))
        const byTime = silent && !options.broadcaster().delivers(nonce) && stood(nonce, quietMs(nonce))
        if (byBlocks || byTime) nudge(slot, head, !byBlocks)
        isByTime ||= byTime && !byBlocks
      }
      haveFeesChanged = false
      if (isByTime) pauseLonger(open)
    },
    feesChanged() {
      haveFeesChanged = true
    },
    watchGaps() {
      if (lane.book.lowestHole() === undefined) return
      gapSinceMs ??= clock.now()
      plan()
    },
    stop: () => gapTimer?.(),
  }

  /**
   * Returns true after one block. A base fee above the offered price is an obvious cause, so that the longer
   * wait for an unknown cause is not needed.
   */
  function stoodOneBlock(nonce: number): boolean {
    const since = sentAt.get(nonce)
    return since !== undefined && blocksBetween(since.block, now().block) >= 1
  }
}

/**
 * Infinite if the head is below the earlier one: the chain was cut back, or was never as long, so that only
 * time counts.
 */
function blocksBetween(before: number, after: number): number {
  return after < before ? Number.POSITIVE_INFINITY : after - before
}
