import type { Clock } from '../../platform/clock.js'
import type { LightHeader } from '../../rpc/codec.js'
import type { Arrivals } from './arrivals.js'
import { createBlockPhase } from './blockPhase.js'
import { fastestOf, type Pace, type SealedBlock } from './follower.js'
import { createPhase } from './phase.js'

/** When the poller looks next. */
export type Pacing = {
  /** A look begins. */
  began(): void
  /** What it showed as pending. */
  saw(block: LightHeader): void
  /** As `Phase` counts them. */
  readonly refreshes: number | undefined
  /** What it showed as the newest block; `isNew`: it joined the chain. */
  headed(block: Pick<SealedBlock, 'number' | 'timestamp'>, isNew: boolean): void
  /** A transaction was sent. Whether the chain may show it before its next block is due. */
  sent(): boolean
  /** What was just signed is about to appear. Whether it is worth looking sooner than was planned. */
  keen(inFlight: number): boolean
  /** It has appeared. */
  calm(): void
  /** Another endpoint is read. */
  elsewhere(): void
  /** When the next look begins; undefined when nobody wants to know anything. */
  next(paces: ReadonlySet<Pace>, missed: Missed, blocks: BlockTimes): number | undefined
}

/** Looks in a row that did not bring what they asked for. */
export type Missed = {
  /** No head. */
  readonly failures: number
  /** A head, and no answer to another call. One call that is never answered costs its batch several requests. */
  readonly incomplete: number
}

/** Milliseconds between sealed blocks. */
type BlockTimes = Pick<Arrivals, 'blockMs' | 'blockMsMin' | 'stampedMs'>

const BACKOFF_MS_MAX = 5_000
/** An incomplete look doubles the cadence so many times at the most: heads still come. */
const INCOMPLETE_DOUBLINGS_MAX = 2
const BLOCK_MS_DEFAULT = 2_000
/** A chain that makes blocks on demand has no period: hours may lie between two of them, and then none. */
const BLOCK_MS_MAX = 12_000
/** A block may be seen late by so much of the time between two. */
const HEAD_PART = 1 / 20
/** For how many refreshes what was sent is looked for more closely; and with more in flight none of them is. */
const KEEN_REFRESHES = 3
const KEEN_FLIGHT_MAX = 64
/**
 * Looks right after something was sent that showed no block for it: so many, and blocks come by the clock alone. Then one
 * of so many is made still.
 */
const SENT_LOOKS_MIN = 2
const SENT_LOOKS_EVERY = 64

export function createPacing(options: {
  readonly clock: Clock
  /** Milliseconds between polls at `cadence`. */
  readonly cadenceMs: () => number
  /** Whether the pending block is made anew at that pace, so that it is worth looking right after that. */
  readonly refreshes: () => boolean
}): Pacing {
  const { clock, cadenceMs } = options
  const phase = createPhase(cadenceMs)
  const blockPhase = createBlockPhase()
  // In a row, without a block that was made for what was sent.
  let sentLooks = 0
  let isSentLook = false
  let startedMs = Number.NEGATIVE_INFINITY
  let keenUntilMs = 0

  /** What was sent brought no block at once. */
  const isByClock = () => sentLooks >= SENT_LOOKS_MIN

  return {
    began() {
      startedMs = clock.now()
    },
    saw(block) {
      phase.looked(startedMs, clock.now(), signOf(block))
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
    keen(inFlight) {
      if (inFlight > KEEN_FLIGHT_MAX) return false
      const wasKeen = clock.now() < keenUntilMs
      keenUntilMs = clock.now() + KEEN_REFRESHES * cadenceMs()
      return !wasKeen
    },
    calm() {
      keenUntilMs = 0
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
      const keen = nowMs < keenUntilMs
      if (pace !== 'block' && failures + incomplete === 0 && options.refreshes())
        return phase.next({ startedMs, nowMs, keen })
      const isSure = pace !== 'cadence' && failures + incomplete === 0 && isByClock()
      const atMs = isSure ? blockPhase.next(startedMs) : undefined
      if (atMs !== undefined) return Math.max(atMs, startedMs + cadenceMs())
      const leastMs = cadenceMs() * 2 ** Math.min(incomplete, INCOMPLETE_DOUBLINGS_MAX)
      const usual = Math.max(leastMs, periodMs(pace, keen || failures > 0, blocks))
      if (failures === 0) return startedMs + usual
      return startedMs + Math.min(BACKOFF_MS_MAX, usual * 2 ** Math.min(failures, 6))
    },
  }
}

/** Between two looks where nothing is refreshed at a steady pace, as far as it is longer than the cadence. */
function periodMs(
  pace: Exclude<Pace, 'idle'>,
  isUrgent: boolean,
  { blockMs, blockMsMin, stampedMs = BLOCK_MS_MAX }: BlockTimes,
): number {
  if (pace === 'block') return Math.min(BLOCK_MS_MAX, blockMs ?? BLOCK_MS_DEFAULT, stampedMs)
  // A node that makes a block for what it is sent makes it at once.
  if (pace === 'cadence' || isUrgent) return 0
  return HEAD_PART * Math.min(BLOCK_MS_MAX, blockMsMin ?? 0)
}

/** What changes with a refresh, as far as one is seen from outside. */
function signOf({ number, hash, hashes }: LightHeader): string {
  return `${number} ${hash} ${hashes.length} ${hashes[hashes.length - 1]}`
}
