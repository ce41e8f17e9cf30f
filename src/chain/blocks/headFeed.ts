import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { decodeHash, decodeNumber, decodeObject } from '../../rpc/codec.js'
import type { Port } from '../../rpc/port.js'
import { type HeadSubscription, joinHeads } from './headSubscription.js'

/**
 * The heads that an endpoint announces (`eth_subscribe`, `newHeads`). An announcement only says when to poll:
 * its contents are never evidence. One subscription serves all lanes of the process on the same URL.
 */
export type HeadFeed = {
  /** Whether a follower waits for blocks. Subscribes with the first one. */
  want(isWanted: boolean): void
  /** The endpoint announces heads, as far as is known. */
  readonly isLive: boolean
  /** When to poll for an announced head that no poll has shown; undefined if there is none. */
  dueMs(): number | undefined
  /**
   * Until when a new head would be announced, so that no poll has to look for it; undefined if that is not
   * known. `periodMs`: the time between two blocks.
   */
  reliableUntilMs(periodMs: number): number | undefined
  /** When this block was announced, if it is the newest announced one. */
  announcedMs(number: number): number | undefined
  /** A poll is over. `newHead`: the number of a head that it was the first to show. */
  polled(newHead: number | undefined, periodMs: number | undefined): void
  /** Another endpoint may have to be asked for announcements. */
  elsewhere(): void
  /** Resolves once the subscription is ended, or its end was not answered in time. */
  stop(): Promise<void>
}

export type HeadFeedOptions = {
  readonly clock: Clock
  /** The endpoint that announces heads; undefined if none can. */
  readonly announcer: () => Port | undefined
  /** The subscriptions of the process. */
  readonly subscriptions: Map<string, unknown>
  /** The hash of the walked block of this number. */
  readonly hashAt: (number: number) => string | undefined
  readonly tip: () => BlockRef | undefined
  /** A head was announced that may have to be polled for, or the subscription ended. */
  readonly onChange: () => void
  /** The least milliseconds between two polls for announcements. */
  readonly apartMs: () => number
  readonly timeoutMs: number
}

/** The number of periods without an announcement after which a subscription counts as silent. */
const SILENT_PERIODS = 2
/** The pause before the next `eth_subscribe`: it doubles with each subscription that announced nothing. */
const AGAIN_MS = 1_000
const AGAIN_MS_MAX = 60_000
/**
 * The number of polls for one announced head, with growing pauses: the endpoint that is read may show the head later.
 */
const LOOKS_MAX = 4
const LOOK_MS = 20
/**
 * The maximum number of heads that get one poll each after all polls for a head were in vain. The number doubles from
 * 1. An endpoint that lags behind the one that announces costs no more polls than it has blocks.
 */
const SPARED_MAX = 32
/** A subscription that no lane has needed for this time is ended at its next announcement. */
const IDLE_MS = 60_000

type Announced = BlockRef & { readonly looksMax: number; looks: number; lookedMs: number }

export function createHeadFeed(options: HeadFeedOptions): HeadFeed {
  const { clock, announcer, subscriptions, timeoutMs } = options
  let current: HeadSubscription | undefined
  let announced: Announced | undefined
  // The highest block that was announced by the current subscription.
  let newest: { readonly number: number; readonly atMs: number } | undefined
  const looks = createLooks()
  let heardMs = Number.NEGATIVE_INFINITY
  let lookedMs = Number.NEGATIVE_INFINITY
  let wantedMs = Number.NEGATIVE_INFINITY
  let isWanted = false
  let failures = 0
  let againMs = Number.NEGATIVE_INFINITY
  let stopped = false

  const isNews = ({ number, hash }: BlockRef): boolean => {
    const tip = options.tip()
    if (tip === undefined || number > tip.number) return true
    const walked = options.hashAt(number)
    return walked !== undefined && walked !== hash
  }

  function heard(result: unknown): void {
    const head = headOf(result)
    if (head === undefined) return
    if (!isWanted && clock.now() - wantedMs > IDLE_MS) return void end()
    heardMs = clock.now()
    failures = 0
    if (head.number > (newest?.number ?? -1)) newest = { number: head.number, atMs: heardMs }
    const isKnown = head.hash === announced?.hash || !isNews(head)
    if (isKnown) return
    if (announced !== undefined && announced.looks > 0 && isNews(announced)) looks.inVain(announced)
    announced = { ...head, looksMax: looks.next(), looks: 0, lookedMs: Number.NEGATIVE_INFINITY }
    options.onChange()
  }

  async function end(): Promise<void> {
    const former = current
    current = undefined
    announced = undefined
    newest = undefined
    await former?.end()
  }

  /** The subscription goes on over the connection of this feed, or of another one. */
  function moved(): void {
    heardMs = clock.now()
    options.onChange()
  }

  /** The subscription is gone, silent or refused. The next one follows after a pause. */
  function lost(isRefused: boolean): void {
    void end()
    againMs = clock.now() + (isRefused ? AGAIN_MS_MAX : Math.min(AGAIN_MS_MAX, AGAIN_MS * 2 ** failures++))
    options.onChange()
  }

  function begin(): void {
    const port = announcer()
    if (stopped || (port === current?.port && port !== undefined)) return
    void end()
    if (port?.notifications === undefined || clock.now() < againMs) return
    heardMs = clock.now()
    current = joinHeads(subscriptions, { port, timeoutMs, heard, moved, lost })
  }

  return {
    want(wanted) {
      if (isWanted || wanted) wantedMs = clock.now()
      isWanted = wanted
      if (wanted) begin()
    },
    get isLive() {
      return current?.isLive === true
    },
    dueMs() {
      if (announced === undefined || !isNews(announced)) return undefined
      if (announced.looks === 0) return Math.max(clock.now(), lookedMs + options.apartMs())
      return announced.lookedMs + LOOK_MS * 2 ** (announced.looks - 1)
    },
    reliableUntilMs(periodMs) {
      if (current?.isLive !== true) return undefined
      const untilMs = heardMs + SILENT_PERIODS * periodMs
      return clock.now() < untilMs ? untilMs : undefined
    },
    announcedMs: (number) => (number === newest?.number ? newest.atMs : undefined),
    polled(newHead, periodMs) {
      if (announced !== undefined) {
        if (announced.looks++ === 0) lookedMs = clock.now()
        announced.lookedMs = clock.now()
        const isShown = !isNews(announced)
        const isOver = isShown || announced.looks >= announced.looksMax
        if (isShown) looks.shown()
        else if (isOver) looks.inVain(announced)
        if (isOver) announced = undefined
      }
      const isSilent = periodMs !== undefined && clock.now() - heardMs > SILENT_PERIODS * periodMs
      if (current?.isLive && isSilent && newHead !== undefined && newHead > (newest?.number ?? -1))
        current.silent()
    },
    elsewhere() {
      failures = 0
      againMs = Number.NEGATIVE_INFINITY
      if (isWanted) begin()
    },
    stop() {
      stopped = true
      return end()
    },
  }
}

/** How many polls an announced head gets. */
function createLooks() {
  // Consecutive heads that all of their polls lacked.
  let vain = 0
  // Heads that get one poll each before one gets several again.
  let spared = 0
  return {
    next(): number {
      if (spared === 0) return LOOKS_MAX
      spared--
      return 1
    },
    shown(): void {
      vain = 0
      spared = 0
    },
    inVain({ looksMax }: Announced): void {
      if (looksMax === LOOKS_MAX) spared = Math.min(SPARED_MAX, 2 ** vain++)
    },
  }
}

function headOf(result: unknown): BlockRef | undefined {
  try {
    const { number, hash } = decodeObject(result, 'eth_subscribe')
    return { number: decodeNumber(number, 'eth_subscribe'), hash: decodeHash(hash, 'eth_subscribe') }
  } catch {
    return undefined
  }
}
