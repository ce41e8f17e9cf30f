import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Price, PriceSource } from './prices.js'

/**
 * The price of one source for the whole lane. It is read once a block (less often if blocks are fast), never
 * per transaction.
 */
export type MarketPrice = {
  /**
   * Resolves with the price at hand, or when it was read. @throws if it was never read, and the read fails
   */
  read(): Promise<Price>
  /**
   * The price that needs no request: it was read at the newest block or just before. A tip is valid for
   * longer.
   */
  atHand(): Price | undefined
  /** The last price, however old, if there was one. */
  readonly last: Price | undefined
  /** Replaces the price by that of another endpoint. */
  know(price: Price): void
  /** Reads the price in the background, unless the current one is up to date. */
  refresh(): void
}

/** Pause after a failed read, doubled with each failure. */
const PAUSE_MS = 500
const PAUSE_MS_MAX = 10_000
/** Number of lost answers in a row that are not reported. */
const OLD_AFTER = 2
// If blocks are faster than one per second, an answer serves several: fewer than the doubled base fee covers.
const FRESH_MS = 1_000
const FRESH_BLOCKS = 4
// After this time other transactions compete for the blocks. On a chain with slow blocks an additional
// request costs nothing.
const TIP_KEPT_MS = 10_000

export function createMarketPrice(options: {
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly source: PriceSource
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  /** Requested together with the price. */
  readonly beside: () => Promise<void>
  readonly known: (price: Price, isBlind: boolean) => void
  /** Called when the price could not be read for a while and an older one is in use. */
  readonly failed: (error: unknown) => void
}): MarketPrice {
  const { endpointPool, source, clock } = options
  // The price was read without a verified block. It may be below the base fee, and no transaction would land.
  let isBlind = false
  let last: Price | undefined
  let lastHead: BlockRef | undefined
  let lastAtMs = 0
  let answeredAtMs = 0
  let asking: Promise<Price> | undefined
  let isScheduled = false
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
    answeredAtMs = clock.now()
  }

  function isFresh(): boolean {
    const { newest: head } = endpointPool.tracker
    if (head?.hash === lastHead?.hash) return true
    if (isBlind) return false
    const isRecent = clock.now() - lastAtMs < FRESH_MS
    return isRecent && head !== undefined && head.number - (lastHead?.number ?? 0) <= FRESH_BLOCKS
  }

  /** A tip combines with the base fee of every block, for a limited time. */
  function isTipKept({ kind }: Price): boolean {
    const hasBaseFee = endpointPool.tracker.newest?.baseFeePerGas !== undefined
    return kind === 'tips' && hasBaseFee && clock.now() - answeredAtMs <= TIP_KEPT_MS
  }

  /**
   * Reads the price. A failure is not cached: without an older price the caller asks again at its own pace.
   * With an older price the lane uses that one, and the read is repeated after a pause.
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
        // Reported once: the offers meanwhile use a price that was right some blocks ago.
        if (last !== undefined && failures === OLD_AFTER) options.failed(error)
        failures++
        throw error
      },
    )
    return older === undefined ? asking : asking.catch(() => older)
  }

  /** Reads in the background, after the transactions that are about to be sent. */
  function askBeside(older: Price): void {
    if (isFresh() || asking !== undefined || isScheduled || clock.now() < notBeforeMs) return
    isScheduled = true
    clock.setTimer(() => {
      isScheduled = false
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
    know: (price) => know(price, endpointPool.tracker.newest, clock.now()),
    refresh() {
      if (last !== undefined) askBeside(last)
    },
  }
}
