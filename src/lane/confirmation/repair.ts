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
 * Notices what stands still: nonces that are not covered although blocks go by, and gaps that nobody fills. What got lost
 * on its way is not its business: the delivery sends it again. Runs under every hold.
 */
export type Repair = {
  /** Bytes of this nonce were handed to an endpoint: it is given its time anew. */
  sent(nonce: number): void
  /** Nonces that have stood still for too long are nudged: each at most once in so many sealed blocks. */
  ticked(): void
  /** What may be offered is another than before: what waits for a higher price is looked at with the next tick. */
  feesChanged(): void
  /** There may be a hole below the cursor. */
  watchGaps(): void
  stop(): void
}

/**
 * What only a count says that somebody has sent is given more time, since a no-op takes its place: its price may lie
 * below the market, and a count that is too high may last for some seconds.
 */
const SUPPOSED_STUCK_MS = 15_000

/**
 * A pool has the head and may have a reason to wait, as a queue of others that pay more: it is given so many times the
 * blocks of a head that nobody has.
 */
const POOLED_PATIENCE = 4

/** What outside code signed cannot be outbid by us. */
const NOT_OURS = { atCeiling: false, fillable: false, aboveCeiling: undefined }

/**
 * Some nodes make a block only for a transaction: without one, blocks say nothing of what stands still. So long without a
 * sealed block, what outside code sent, or somebody is supposed to have sent, is looked into by time, with pauses that
 * double: a chain that halts must not drive fees up.
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
  /** A transaction stands ready that will take the lowest hole. */
  fillable: () => boolean
  /** Nonces below it are used, by whom is being found out: no bytes would help them. */
  usedBelow: () => number
  /** Kept for what is under way at a lower nonce. */
  keeps: (nonce: number) => boolean
  /** The node counts somebody's transaction there. */
  covers: (nonce: number) => boolean
  /** A transaction has yet to get a nonce. */
  waits: () => boolean
}): Repair {
  const { context, signing } = options
  const { lane, limits, clock, endpointPool, fees } = context
  const sentAt = new NonceMap<Sent>()
  let latest: Sent = { block: 0, atMs: 0 }
  // The lowest nonce that is not covered, and since when it is: what is above it waits for it.
  let lowest: { readonly nonce: number; readonly since: Sent } | undefined
  let quiet: { block: number | undefined; sinceMs: number; pauseMs: number } = {
    block: undefined,
    sinceMs: 0,
    pauseMs: 0,
  }
  // What a block would take next and a pool has: when it was sent last, and since when it has been the next.
  let pooled: { nonce: number; sent: Sent | undefined; from: Sent } | undefined
  let gapTimer: CancelTimer | undefined
  let haveFeesChanged = false
  let gapSinceMs: number | undefined

  /** One for all that are sent in the same millisecond. */
  function now(): Sent {
    const { number: block = 0 } = endpointPool.tracker.head ?? {}
    const atMs = Math.floor(clock.now())
    if (latest.block !== block || latest.atMs !== atMs) latest = { block, atMs }
    return latest
  }

  /** Only a count says that somebody has sent it. */
  function isSupposed(nonce: number): boolean {
    return !lane.book.slots.has(nonce)
  }

  /**
   * Both must have gone by: blocks without it, and time, since blocks may come in a burst. One block is enough to
   * send the same bytes again, which costs nothing; a bump takes more patience.
   */
  function isStuck({ nonce, ...slot }: Slot): boolean {
    const sent = sentAt.get(nonce)
    if (sent === undefined) {
      // Restored, seeded or never sent: its time begins now.
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
   * Above the lowest nonce that is not covered, one is looked into only for what another send of the same bytes does not
   * mend: bytes that are lacking, below the base fee, refused, or outbid by somebody else.
   */
  function isConcerned(slot: Slot): boolean {
    if (slot.nonce === lowest?.nonce || slot.nonce === lane.book.floor || slot.state !== 'live') return true
    const isLacking = newestAttempt(slot)?.claim !== wantedClaim(slot)
    return isLacking || slot.displaced || slot.refusals > 0 || !priced(slot)
  }

  /**
   * No no-op is paid for a nonce of which only a count says that somebody has it, once no count says so any more, or
   * where nothing of this lane waits for it; nor while the operator is to look at what the store does not know.
   */
  function mayFill({ nonce, origin }: Outside): boolean {
    if (origin !== 'seeded') return false
    if (!isSupposed(nonce)) return true
    const isInTheWay = lane.book.cursor > lane.book.supposedTo || options.waits()
    return isInTheWay && options.covers(nonce) && !lane.holds.has('storeBehindChain')
  }

  /** No block was sealed during the pause, with something in flight all the time. */
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

  /** Something was looked into by time: the next pause is twice as long. */
  function pauseLonger(open: readonly Slot[]): void {
    quiet = { ...quiet, sinceMs: clock.now(), pauseMs: Math.min(QUIET_MS_MAX, quiet.pauseMs * 2) }
    context.logger.warn?.(
      { block: quiet.block, open: open.length, lowest: open[0]?.nonce },
      'no block was sealed for a while, with transactions in flight: they are sent again',
    )
  }

  /** Handed to an endpoint, or seen first, so long ago. */
  function stood(nonce: number, ms: number): boolean {
    const since = sentAt.get(nonce)
    return since !== undefined && clock.now() - since.atMs >= ms
  }

  /** No patience is shorter for want of blocks: a head that does not join is no sealed block either. */
  const quietMs = (nonce: number): number => (isSupposed(nonce) ? SUPPOSED_STUCK_MS : QUIET_MS_MIN)

  /** `byTime`: no block tells that it stands still. */
  function nudge(slot: Slot, head: boolean, byTime: boolean): void {
    const signer = context.signer !== undefined
    sentAt.set(slot.nonce, now())
    const event = { type: 'stuck' as const, head, signer, token: lane.token() }
    if (slot.state === 'outside') {
      lane.apply(slot.nonce, { ...event, atCeiling: false, priced: true, fillable: true })
    } else if (slot.state === 'live') {
      const outside = isOutside(slot)
      const newest = newestAttempt(slot)
      // A pool has it, and blocks take others: it would not be here else.
      const isPriced = slot.nonce >= lane.book.coveredTo && priced(slot)
      // Without blocks nothing says that the price is too low: the same bytes again, and no more.
      const mayBid = !byTime || !isPriced || slot.refusals > 0
      const { aboveCeiling, ...ceilings } = outside || byTime ? NOT_OURS : signing.ceilings(slot)
      // A no-op that nobody takes and that cannot offer more: it is only sent again, and nothing lands above it.
      if (newest && newest.claim === undefined && ceilings.atCeiling && !newest.accepted)
        block(context, slot.nonce, aboveCeiling && describeAboveCeiling(aboveCeiling))
      // What outside code signed cannot be bumped by us, only sent again.
      lane.apply(slot.nonce, {
        ...event,
        ...ceilings,
        priced: isPriced,
        signer: signer && mayBid && !outside,
      })
    }
  }

  /** Row 20 waits for no block: there may come none while the head is refused. */
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

  /** A block would take it at a higher price, or has passed it over since its bytes were sent again. */
  function isWaitingForPrice(slot: Live, head: boolean): boolean {
    return !priced(slot) || (head && slot.nudged)
  }

  /**
   * The next one that a block could take, where a pool counts it and its price is too low: it is below the base fee, or
   * blocks took others. What is above it waits too. Of somebody else's only blocks tell.
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
    // A head that is lower than before says nothing of what blocks took.
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

  /** Row 2, lowest first. Without a signer a gap can only be told. */
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
      // Kept in the order of the first send, which is the order of nonces: the used ones stand in front.
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
        // It was not sent yet: that it stands still is no mystery.
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

  /** A base fee that rose above what is offered is plain to see: no need to wait as long as for a mystery. */
  function stoodOneBlock(nonce: number): boolean {
    const since = sentAt.get(nonce)
    return since !== undefined && blocksBetween(since.block, now().block) >= 1
  }
}

/** A head below the former one says that the chain was cut back, or never was as long: time alone counts then. */
function blocksBetween(before: number, after: number): number {
  return after < before ? Number.POSITIVE_INFINITY : after - before
}
