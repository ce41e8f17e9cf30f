import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Price, PriceSource } from './prices.js'

/** The price of one source for the whole lane: read once a block, where blocks are fast less often, and never per transaction. */
export type MarketPrice = {
  /** Resolves with what is at hand, else when it was read. @throws where it never was, and cannot be */
  read(): Promise<Price>
  /** What is known without an answer: read beside the newest block, or just before; a tip while it is not old. */
  atHand(): Price | undefined
  /** The last one, however old, if there ever was one. */
  readonly last: Price | undefined
  /** It was read beside no block that was walked: it may lie below the base fee, and nothing would land. */
  readonly isBlind: boolean
  /** Another endpoint says so. */
  know(price: Price): void
  /** Reads it anew while the lane goes on with what it has, unless that is as new as it can be. */
  refresh(): void
}

/** After an answer that failed, doubled with each. */
const PAUSE_MS = 500
const PAUSE_MS_MAX = 10_000
/** One lost answer is no news. */
const OLD_AFTER = 2
// Where blocks are faster than once a second an answer serves several: fewer than the doubled base fee holds for.
const FRESH_MS = 1_000
const FRESH_BLOCKS = 4
// What asks for the next places in a block is another one by then; where blocks are slow a question costs nothing.
const TIP_KEPT_MS = 10_000

export function createMarketPrice(options: {
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly source: PriceSource
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  /** Asked for beside it. */
  readonly beside: () => Promise<void>
  readonly known: (price: Price, isBlind: boolean) => void
  /** It could not be read for a while, and an older one is used. */
  readonly failed: (error: unknown) => void
}): MarketPrice {
  const { endpointPool, source, clock } = options
  let isBlind = false
  let last: Price | undefined
  let lastHead: BlockRef | undefined
  let lastAtMs = 0
  let heardAtMs = 0
  let asking: Promise<Price> | undefined
  let besides = false
  let failures = 0
  let notBeforeMs = Number.NEGATIVE_INFINITY

  async function ask(): Promise<Price> {
    const { newest: head } = endpointPool.tracker
    const nowMs = clock.now()
    const [price] = await Promise.all([source.read(), options.beside()])
    know(price, head, nowMs)
    isBlind = endpointPool.tracker.head === undefined
    options.known(price, isBlind)
    return price
  }

  function know(price: Price, head: BlockRef | undefined, atMs: number): void {
    last = price
    lastHead = head
    lastAtMs = atMs
    heardAtMs = clock.now()
  }

  function isFresh(): boolean {
    const { newest: head } = endpointPool.tracker
    if (head?.hash === lastHead?.hash) return true
    if (isBlind) return false
    const isRecent = clock.now() - lastAtMs < FRESH_MS
    return isRecent && head !== undefined && head.number - (lastHead?.number ?? 0) <= FRESH_BLOCKS
  }

  /** A tip goes with the base fee of every block, for a while. */
  function isTipKept({ kind }: Price): boolean {
    const hasBaseFee = endpointPool.tracker.newest?.baseFeePerGas !== undefined
    return kind === 'tips' && hasBaseFee && clock.now() - heardAtMs <= TIP_KEPT_MS
  }

  /**
   * A failure is not kept: who has nothing asks again, at a pace of his own. With an older answer at hand the lane goes on
   * with that, and it is asked again after a pause.
   */
  function asked(older: Price | undefined): Promise<Price> {
    if (older !== undefined && clock.now() < notBeforeMs) return Promise.resolve(older)
    asking ??= ask().then(
      (price) => {
        asking = undefined
        failures = 0
        notBeforeMs = Number.NEGATIVE_INFINITY
        return price
      },
      (error: unknown) => {
        asking = undefined
        notBeforeMs = clock.now() + Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** failures)
        // Once: what is offered meanwhile was right some blocks ago.
        if (last !== undefined && failures === OLD_AFTER) options.failed(error)
        failures++
        throw error
      },
    )
    return older === undefined ? asking : asking.catch(() => older)
  }

  /** What is about to leave leaves first. */
  function askBeside(older: Price): void {
    if (isFresh() || asking !== undefined || besides || clock.now() < notBeforeMs) return
    besides = true
    clock.setTimer(() => {
      besides = false
      void asked(older)
    }, 0)
  }

  function atHand(): Price | undefined {
    if (last === undefined) return undefined
    const wasRead = isFresh()
    if (!wasRead && !isTipKept(last)) return undefined
    if (isBlind && endpointPool.tracker.head !== undefined) {
      isBlind = false
      options.known(last, false)
    }
    if (!wasRead) askBeside(last)
    return last
  }

  return {
    read: async () => atHand() ?? asked(last),
    atHand,
    get last() {
      return last
    },
    get isBlind() {
      return isBlind
    },
    know: (price) => know(price, endpointPool.tracker.newest, clock.now()),
    refresh() {
      if (last !== undefined) askBeside(last)
    },
  }
}
