import type { Clock } from '../../platform/clock.js'
import type { LightHeader } from '../../rpc/codec.js'
import type { Arrivals } from './arrivals.js'
import { fastestOf, type Look, type Pace } from './follower.js'
import type { HeadFeed } from './headFeed.js'
import { createPhase } from './phase.js'
import { createRefreshPeriod } from './refreshPeriod.js'

/** Decides when the block poller polls next. */
export type Pacing = {
  /** A poll begins. Returns the time. */
  onTickStart(): number
  /** The poll was answered. Returns the time at which the endpoint read its state, as far as it is known. */
  onTickAnswer(): number
  /** The pending block that the poll showed. */
  onPendingBlock(block: LightHeader): void
  /** The block that the poll showed came after this time, if it was announced. */
  sinceMs(number: number): number | undefined
  /** How often the pending block was rebuilt, as counted by `Phase`, and the time between two refreshes. */
  refreshes(): Pick<Look, 'refreshes' | 'refreshMs'>
  /**
   * The number of the newest block that the poll showed; undefined if that is not the chain's newest block, because
   * the endpoint lags, or the block did not join. `isNew`: it joined with this poll.
   */
  headed(number: number | undefined, isNew: boolean): void
  /** A transaction was sent. Returns whether the chain may show it before its next block is due. */
  sent(): boolean
  /**
   * A newly signed transaction is about to appear. Returns whether an earlier poll than planned is
   * worthwhile.
   */
  startFastPolling(inFlight: number): boolean
  /** The expected transaction has appeared. */
  stopFastPolling(): void
  /** Another endpoint is read from now on. */
  elsewhere(): void
  /** When the next poll begins; undefined if no follower needs one. */
  next(paces: ReadonlySet<Pace>, missed: Missed): number | undefined
}

/** Consecutive polls without the requested answers. */
export type Missed = {
  /** Polls without a head. */
  readonly failures: number
  /**
   * Polls with a head, but without the answer to another call. A call that is never answered costs its batch
   * several requests.
   */
  readonly incomplete: number
}

/** Milliseconds between sealed blocks. */
type BlockTimes = Pick<Arrivals, 'blockMs' | 'steadyMs' | 'stampedMs'>

const BACKOFF_MS_MAX = 5_000
/** Incomplete polls double the cadence at most this many times, since heads still arrive. */
const INCOMPLETE_DOUBLINGS_MAX = 2
const BLOCK_MS_DEFAULT = 2_000
/**
 * A chain that makes blocks on demand has no period: there may be hours between two blocks, or no further
 * block.
 */
const BLOCK_MS_MAX = 12_000
/** The maximum number of blocks between two polls at `rest`: the walk reads each of them. */
const REST_BLOCKS_MAX = 100
/** A block may be seen late by this fraction of the block time. */
const HEAD_PART = 1 / 20
/**
 * The number of refreshes for which a new transaction is polled more closely. With more transactions in flight than
 * the maximum, no transaction is polled more closely.
 */
const FAST_REFRESHES = 3
/** The time between fast polls until the time of the refreshes is known. */
const FAST_MS = 50
/** Blocks that are faster than the cadence by more than this part are polled at the cadence. */
const CADENCE_PART = 9 / 10
const SECOND_MS = 1_000
const ANNOUNCED_LATE_MS = 10
const FAST_FLIGHT_MAX = 64
/**
 * After this many polls right after a send that showed no block for it, blocks are assumed to come by the
 * clock only. From then on only one of every `SENT_POLLS_EVERY` such polls is made.
 */
const SENT_POLLS_MIN = 2
const SENT_POLLS_EVERY = 64

export function createPacing(options: {
  readonly clock: Clock
  /** Milliseconds between polls at `cadence`. */
  readonly cadenceMs: () => number
  /** Whether the pending block is rebuilt at that pace, so that a poll right after it is worthwhile. */
  readonly refreshes: () => boolean
  readonly blocks: BlockTimes
  readonly feed: Pick<HeadFeed, 'isLive' | 'dueMs' | 'reliableUntilMs' | 'announcedMs'>
}): Pacing {
  const { clock, cadenceMs, blocks, feed } = options
  const refreshPeriod = createRefreshPeriod(cadenceMs)
  const pendingPhase = createPhase({ periodMs: () => refreshPeriod.ms, showsEachMove: false })
  const blockPhase = createPhase({ periodMs: () => blocks.steadyMs, showsEachMove: true })
  const sentPolls = createSentPolls(options.refreshes)
  let startedMs = Number.NEGATIVE_INFINITY
  let answeredMs = Number.NEGATIVE_INFINITY
  let fastUntilMs = 0

  /** When the endpoint read its state for the last poll. */
  const readMs = () => (startedMs + answeredMs) / 2

  /** The block that a poll at this pace waits for; undefined if it needs more than blocks show. */
  function polledAt(pace: Exclude<Pace, 'idle'>): 'pending' | 'blocks' | undefined {
    if (pace === 'rest') return undefined
    const { steadyMs: blockMs = 0 } = blocks
    // If blocks come at the cadence, no pending block shows more.
    if (blockMs >= cadenceMs() * CADENCE_PART && blockMs <= cadenceMs() / CADENCE_PART) return 'blocks'
    if (pace !== 'block' && options.refreshes()) return 'pending'
    return pace === 'cadence' ? undefined : 'blocks'
  }

  /** When to poll this block; undefined if it is not known to move at a steady pace. */
  function steadyMs(polled: 'pending' | 'blocks'): number | undefined {
    const nowMs = clock.now()
    const isFast = nowMs < fastUntilMs
    const at = { startedMs, nowMs, isFast }
    if (polled === 'pending' && isFast && refreshPeriod.isLearning(nowMs)) return blindMs(isFast)
    if (polled === 'pending') return pendingPhase.next(at) ?? blindMs(isFast)
    const { steadyMs: blockMs = 0 } = blocks
    if (blockMs < cadenceMs() * CADENCE_PART || !(sentPolls.areInVain || blockMs < SECOND_MS))
      return undefined
    return blockPhase.next({ ...at, isAnnounced: feed.isLive })
  }

  /** An announcement travels as long as an answer, and the node sends it a moment after the block. */
  function sinceMs(number: number): number | undefined {
    const announcedMs = feed.announcedMs(number)
    return announcedMs && announcedMs - (answeredMs - startedMs) - ANNOUNCED_LATE_MS
  }

  function usualMs(pace: Exclude<Pace, 'idle'>, { failures, incomplete }: Missed): number {
    const isFast = clock.now() < fastUntilMs
    const leastMs = cadenceMs() * 2 ** Math.min(incomplete, INCOMPLETE_DOUBLINGS_MAX)
    const usual = Math.max(leastMs, periodMs(pace, isFast || failures > 0, blocks))
    if (failures === 0) return startedMs + usual
    return startedMs + Math.min(BACKOFF_MS_MAX, usual * 2 ** Math.min(failures, 6))
  }

  /** Fast polls find the time of the refreshes. */
  const blindMs = (isFast: boolean) => startedMs + (isFast ? Math.min(FAST_MS, cadenceMs()) : cadenceMs())

  return {
    onTickStart() {
      startedMs = clock.now()
      return startedMs
    },
    onTickAnswer() {
      answeredMs = clock.now()
      return readMs()
    },
    onPendingBlock(block) {
      const sign = fingerprintOf(block)
      if (refreshPeriod.looked(readMs(), sign, startedMs < fastUntilMs)) pendingPhase.forget()
      pendingPhase.looked(startedMs, answeredMs, sign)
    },
    sinceMs,
    refreshes: () => ({ refreshes: pendingPhase.moves, refreshMs: refreshPeriod.ms }),
    headed(number, isNew) {
      if (number === undefined) return blockPhase.lookedInVain(startedMs, answeredMs)
      blockPhase.looked(startedMs, answeredMs, number, sinceMs(number))
      sentPolls.headed(isNew)
    },
    sent: sentPolls.sent,
    startFastPolling(inFlight) {
      if (inFlight > FAST_FLIGHT_MAX) return false
      const wasFast = clock.now() < fastUntilMs
      fastUntilMs = clock.now() + FAST_REFRESHES * refreshPeriod.ms
      return !wasFast
    },
    stopFastPolling() {
      fastUntilMs = 0
    },
    elsewhere() {
      pendingPhase.forget()
      refreshPeriod.elsewhere()
      blockPhase.forget()
      sentPolls.forget()
    },
    next(paces, { failures, incomplete }) {
      const pace = fastestOf(paces)
      if (pace === undefined) return undefined
      const polled = failures + incomplete === 0 ? polledAt(pace) : undefined
      const atMs = (polled && steadyMs(polled)) ?? usualMs(pace, { failures, incomplete })
      const announcedMs = (pace === 'rest' ? undefined : feed.dueMs()) ?? Number.POSITIVE_INFINITY
      const { steadyMs: blockMs } = blocks
      const restMs = polled === 'blocks' && blockMs !== undefined ? feed.reliableUntilMs(blockMs) : undefined
      return Math.min(announcedMs, Math.max(atMs, restMs ?? atMs))
    },
  }
}

/** The polls right after sends, which look for a block that the node makes for a transaction. */
function createSentPolls(refreshes: () => boolean) {
  // Consecutive polls without a block that was made for a send.
  let inVain = 0
  let isPlanned = false
  const areInVain = () => inVain >= SENT_POLLS_MIN
  return {
    /** The last sends were not followed by an immediate block. */
    get areInVain() {
      return areInVain()
    },
    /** Returns whether to poll now. */
    sent(): boolean {
      isPlanned = !areInVain() || refreshes() || ++inVain % SENT_POLLS_EVERY === 0
      return isPlanned
    },
    /** A poll showed a head. `isNew`: it joined the chain. */
    headed(isNew: boolean): void {
      if (isPlanned) inVain = isNew ? 0 : inVain + 1
      isPlanned = false
    },
    forget(): void {
      inVain = 0
    },
  }
}

/** The time between two polls without steady refreshes, as far as it is longer than the cadence. */
function periodMs(
  pace: Exclude<Pace, 'idle'>,
  isUrgent: boolean,
  { blockMs, stampedMs = BLOCK_MS_MAX }: BlockTimes,
): number {
  if (pace === 'block') return Math.min(BLOCK_MS_MAX, blockMs ?? BLOCK_MS_DEFAULT, stampedMs)
  if (pace === 'rest') return Math.min(BLOCK_MS_MAX, REST_BLOCKS_MAX * (blockMs ?? BLOCK_MS_DEFAULT))
  // A node that makes a block for each transaction makes it at once.
  if (pace === 'cadence' || isUrgent) return 0
  return HEAD_PART * Math.min(BLOCK_MS_MAX, blockMs ?? 0)
}

/** A fingerprint of the parts of a block that change with a refresh. */
function fingerprintOf({ number, hash, hashes }: LightHeader): string {
  return `${number} ${hash} ${hashes.length} ${hashes[hashes.length - 1]}`
}
