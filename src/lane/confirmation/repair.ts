import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { feeCap } from '../../ledger/fees.js'
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
import type { FeeOracle } from '../signing/feeOracle.js'
import { block } from '../signing/orders.js'
import type { Signing } from '../signing/signing.js'
import type { Transaction } from '../transaction/transaction.js'
import { describeAboveCeiling } from '../transaction/txError.js'
import {
  createPooledHead,
  createQuietWatch,
  createSendTimes,
  createStuckCheck,
  isSupposed,
  QUIET_MS_MIN,
  SUPPOSED_STUCK_MS,
} from './stuck.js'

type RepairContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
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
  /** Bytes of this nonce were sent to an endpoint, so its waiting time starts over. */
  sent(nonce: number): void
  /**
   * Repairs nonces that made no progress for too long, each at most once in a configured number of sealed
   * blocks.
   */
  ticked(): void
  /**
   * The fees that may be offered have changed, so the next tick checks transactions that wait for a
   * higher price.
   */
  feesChanged(): void
  /** There may be a hole below the cursor. */
  watchGaps(): void
  stop(): void
}

type RepairOptions = {
  context: RepairContext
  signing: Signing
  broadcaster: Pick<Broadcaster, 'delivers' | 'holdsBack' | 'isStranded'>
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
}

export function createRepair(options: RepairOptions): Repair {
  const { context, signing, broadcaster } = options
  const { lane, limits, clock, endpointPool, fees, logger, events } = context
  const { book } = lane
  const { tracker } = endpointPool
  const priced = (slot: Live) => isPriced(slot, fees.baseFee())
  const times = createSendTimes({ clock, tracker })
  const quiet = createQuietWatch({ clock, tracker, logger })
  const stuck = createStuckCheck({ book, times, limits })
  const pooledHead = createPooledHead({ book, times, limits, priced })
  const repairSlot = createSlotRepair({ context, signing, isOutside, priced })
  const hasSigner = () => context.signer !== undefined
  const gaps = createGapFiller({ lane, clock, limits, events, hasSigner, fillable: options.fillable })
  let haveFeesChanged = false

  /**
   * Above the lowest nonce that is not covered, a nonce is checked only for problems that another send of the
   * same bytes does not solve: missing bytes, a price below the base fee, a refusal, or a higher bid by
   * another sender.
   */
  function isConcerned(slot: Slot): boolean {
    if (stuck.isLowest(slot.nonce) || slot.nonce === book.floor || slot.state !== 'live') return true
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
    if (!isSupposed(book, nonce)) return true
    const isInTheWay = book.cursor > book.supposedTo || options.waits()
    return isInTheWay && options.covers(nonce) && !lane.holds.has('storeBehindChain')
  }

  /**
   * The lack of blocks shortens no patience, because a head that does not join the chain is no sealed block
   * either.
   */
  const quietMs = (nonce: number): number => (isSupposed(book, nonce) ? SUPPOSED_STUCK_MS : QUIET_MS_MIN)

  function isOutside(slot: Live): boolean {
    const claim = newestAttempt(slot)?.claim
    return claim !== undefined && isOutsideId(claim) && context.transactions.has(claim)
  }

  /** Blocks, a refusal, or new fees show that the slot has to be repaired now. */
  function isDueByBlocks(slot: Slot, head: boolean): boolean {
    const { nonce } = slot
    const live = slot.state === 'live' ? slot : undefined
    // Row 20 does not wait for a block, because none may come while the head is refused.
    if (head && live && isRefusedForGood(live) && hasSigner() && !isOutside(live)) return true
    if (head && broadcaster.isStranded(nonce) && times.isOlder(nonce, limits.stuckAfterMs)) return true
    // A block would include it at a higher price, or has skipped it since its bytes were sent again.
    if (haveFeesChanged && live && (!priced(live) || (head && live.resentSinceSigned))) return true
    if (stuck.isStuck(slot)) return true
    // A base fee above the offered price is an obvious cause, so the longer wait for an unknown cause is
    // not needed.
    return head && live !== undefined && !priced(live) && times.hasBlockPassed(nonce)
  }

  return {
    sent: times.start,
    ticked() {
      const { floor } = book
      times.forgetBelow(floor)
      const uncovered = book.uncovered(limits.resendMax)
      stuck.noteLowest(uncovered[0]?.nonce)
      const open = [...pooledHead(), ...uncovered]
      const silent = quiet.isQuiet(open)
      let isByTime = false
      for (const slot of open) {
        const { nonce } = slot
        if (nonce < options.usedBelow() || options.keeps(nonce) || !isConcerned(slot)) continue
        if (slot.state === 'outside' && !mayFill(slot)) continue
        // The nonce was not sent yet, which explains the lack of progress.
        if (broadcaster.holdsBack(nonce)) continue
        const head = nonce === floor
        const byBlocks = isDueByBlocks(slot, head)
        const byTime = silent && !broadcaster.delivers(nonce) && times.isOlder(nonce, quietMs(nonce))
        if (!byBlocks && !byTime) continue
        times.start(nonce)
        repairSlot(slot, head, !byBlocks)
        isByTime ||= !byBlocks
      }
      haveFeesChanged = false
      if (isByTime) quiet.pauseLonger(open)
    },
    feesChanged() {
      haveFeesChanged = true
    },
    watchGaps: gaps.watch,
    stop: gaps.stop,
  }
}

/** The offer covers the base fee, as far as both are known. */
function isPriced(slot: Live, baseFee: bigint | undefined): boolean {
  const newest = newestAttempt(slot)
  if (newest === undefined || baseFee === undefined) return true
  return feeCap(newest.fees) >= baseFee
}

type SlotRepairParts = {
  readonly context: Pick<RepairContext, 'blockedAt' | 'lane' | 'signer'>
  readonly signing: Pick<Signing, 'ceilings'>
  /** Outside code signed the newest attempt. */
  readonly isOutside: (slot: Live) => boolean
  /** The offer covers the base fee. */
  readonly priced: (slot: Live) => boolean
}

/** This lane cannot outbid a transaction that outside code signed. */
const NOT_OURS = { atCeiling: false, fillable: false, aboveCeiling: undefined }

/** Asks the table to repair a slot that made no progress (rows 19 and 20). */
function createSlotRepair({ context, signing, isOutside, priced }: SlotRepairParts) {
  const { lane } = context

  /** `byTime`: the repair is due by time, and no block shows a lack of progress. */
  return (slot: Slot, head: boolean, byTime: boolean): void => {
    const signer = context.signer !== undefined
    const event = { type: 'stuck' as const, head, signer, token: lane.token() }
    if (slot.state === 'outside') {
      lane.apply(slot.nonce, { ...event, atCeiling: false, priced: true, fillable: true })
    } else if (slot.state === 'live') {
      const outside = isOutside(slot)
      const newest = newestAttempt(slot)
      // A covered nonce is checked only because blocks prefer other transactions to it, so its price is
      // too low.
      const isPriced = slot.nonce >= lane.book.coveredTo && priced(slot)
      // Without blocks nothing shows that the price is too low, so only the same bytes are sent again.
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
}

type GapFillerParts = {
  readonly lane: Lane
  readonly clock: Clock
  readonly limits: Pick<Limits, 'gapFillAfterMs' | 'fillsMax'>
  readonly events: Emitter
  readonly hasSigner: () => boolean
  /** A transaction is ready that will take the lowest hole. */
  readonly fillable: () => boolean
}

/** Fills gaps that no transaction takes (row 2). */
type GapFiller = {
  /** There may be a hole below the cursor. */
  watch(): void
  stop(): void
}

function createGapFiller(parts: GapFillerParts): GapFiller {
  const { lane, clock, limits, events, hasSigner, fillable } = parts
  const { book } = lane
  let timer: CancelTimer | undefined
  let sinceMs: number | undefined

  function check(): void {
    timer = undefined
    const hole = book.lowestHole()
    if (hole === undefined) {
      sinceMs = undefined
      return
    }
    const isWanted = fillable()
    const due = clock.now() - (sinceMs ?? clock.now()) >= limits.gapFillAfterMs
    if (due && hasSigner() && !isWanted) fill()
    if (book.lowestHole() !== undefined) plan()
    else sinceMs = undefined
  }

  /** Row 2, lowest first. Without a signer a gap can only be reported. */
  function fill(): void {
    for (let filled = 0; filled < limits.fillsMax; filled++) {
      const nonce = book.lowestHole()
      if (nonce === undefined) return
      lane.apply(nonce, {
        type: 'gapTimer',
        boundAbove: nonce < book.cursor,
        waiting: false,
        token: lane.token(),
      })
      if (book.lowestHole() === nonce) return
      events.emit('gap', { nonce })
    }
  }

  function plan(): void {
    timer ??= clock.setTimer(check, limits.gapFillAfterMs)
  }

  return {
    watch() {
      if (book.lowestHole() === undefined) return
      sinceMs ??= clock.now()
      plan()
    },
    stop: () => timer?.(),
  }
}
