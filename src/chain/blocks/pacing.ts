import type { Clock } from '../../platform/clock.js'
import type { LightHeader } from '../../rpc/codec.js'
import type { Arrivals } from './arrivals.js'
import { fastestOf, type Pace, type SealedBlock } from './follower.js'
import { createBlockPhase, createPhase } from './phase.js'

/** Decides when the block poller polls next. */
export type Pacing = {
  /** A poll begins. */
  onTickStart(): void
  /** The pending block that the poll showed. */
  onPendingBlock(block: LightHeader): void
  /** As counted by `Phase`. */
  readonly refreshes: number | undefined
  /** The newest block that the poll showed. `isNew`: it joined the chain. */
  headed(block: Pick<SealedBlock, 'number' | 'timestamp'>, isNew: boolean): void
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
  next(paces: ReadonlySet<Pace>, missed: Missed, blocks: BlockTimes): number | undefined
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
type BlockTimes = Pick<Arrivals, 'blockMs' | 'blockMsMin' | 'stampedMs'>

const BACKOFF_MS_MAX = 5_000
/** Incomplete polls double the cadence at most this many times, since heads still arrive. */
const INCOMPLETE_DOUBLINGS_MAX = 2
const BLOCK_MS_DEFAULT = 2_000
/**
 * A chain that makes blocks on demand has no period: there may be hours between two blocks, or no further
 * block.
 */
const BLOCK_MS_MAX = 12_000
/** A block may be seen late by this fraction of the block time. */
const HEAD_PART = 1 / 20
/**
 * The number of refreshes for which a new transaction is polled more closely. With more transactions in
 * flight than the maximum, none is.
 */
const FAST_REFRESHES = 3
const FAST_FLIGHT_MAX = 64
/**
 * After this many polls right after a send that showed no block for it, blocks are assumed to come by the
 * clock only. From then on only one of every `SENT_LOOKS_EVERY` such polls is made.
 */
const SENT_LOOKS_MIN = 2
const SENT_LOOKS_EVERY = 64

export function createPacing(options: {
  readonly clock: Clock
  /** Milliseconds between polls at `cadence`. */
  readonly cadenceMs: () => number
  /** Whether the pending block is rebuilt at that pace, so that a poll right after it is worthwhile. */
  readonly refreshes: () => boolean
}): Pacing {
  const { clock, cadenceMs } = options
  const phase = createPhase(cadenceMs)
  const blockPhase = createBlockPhase()
  // Consecutive polls without a block that was made for a send.
  let sentLooks = 0
  let isSentLook = false
  let startedMs = Number.NEGATIVE_INFINITY
  let fastUntilMs = 0

  /** The last sends were not followed by an immediate block. */
  const isByClock = () => sentLooks >= SENT_LOOKS_MIN

  return {
    onTickStart() {
      startedMs = clock.now()
    },
    onPendingBlock(block) {
      phase.looked(startedMs, clock.now(), fingerprintOf(block))
    },
    get refreshes() {
      return phase.refreshes
    },
    headed(block, isNew) {
      blockPhase.looked(startedMs, block)
      if (isSentLook) sentLooks = isNew ? 0 : sentLooks + 1
      isSentLook = false
    },
    sent() {
      isSentLook = !isByClock() || options.refreshes() || ++sentLooks % SENT_LOOKS_EVERY === 0
      return isSentLook
    },
    startFastPolling(inFlight) {
      if (inFlight > FAST_FLIGHT_MAX) return false
      const wasFast = clock.now() < fastUntilMs
      fastUntilMs = clock.now() + FAST_REFRESHES * cadenceMs()
      return !wasFast
    },
    stopFastPolling() {
      fastUntilMs = 0
    },
    elsewhere() {
      phase.forget()
      blockPhase.forget()
      sentLooks = 0
    },
    next(paces, { failures, incomplete }, blocks) {
      const pace = fastestOf(paces)
      if (pace === undefined) return undefined
      const nowMs = clock.now()
      const isFast = nowMs < fastUntilMs
      if (pace !== 'block' && failures + incomplete === 0 && options.refreshes())
        return phase.next({ startedMs, nowMs, isFast })
      const isSure = pace !== 'cadence' && failures + incomplete === 0 && isByClock()
      const atMs = isSure ? blockPhase.next(startedMs) : undefined
      if (atMs !== undefined) return Math.max(atMs, startedMs + cadenceMs())
      const leastMs = cadenceMs() * 2 ** Math.min(incomplete, INCOMPLETE_DOUBLINGS_MAX)
      const usual = Math.max(leastMs, periodMs(pace, isFast || failures > 0, blocks))
      if (failures === 0) return startedMs + usual
      return startedMs + Math.min(BACKOFF_MS_MAX, usual * 2 ** Math.min(failures, 6))
    },
  }
}

/** The time between two polls without steady refreshes, as far as it is longer than the cadence. */
function periodMs(
  pace: Exclude<Pace, 'idle'>,
  isUrgent: boolean,
  { blockMs, blockMsMin, stampedMs = BLOCK_MS_MAX }: BlockTimes,
): number {
  if (pace === 'block') return Math.min(BLOCK_MS_MAX, blockMs ?? BLOCK_MS_DEFAULT, stampedMs)
  // A node that makes a block for each transaction makes it at once.
  if (pace === 'cadence' || isUrgent) return 0
  return HEAD_PART * Math.min(BLOCK_MS_MAX, blockMsMin ?? 0)
}

/** A fingerprint of the parts of a block that change with a refresh. */
function fingerprintOf({ number, hash, hashes }: LightHeader): string {
  return `${number} ${hash} ${hashes.length} ${hashes[hashes.length - 1]}`
}
