import type { Chain, Client, FeeValues, Transport } from 'viem'
import { estimateFeesPerGas } from 'viem/actions'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Tips } from '../../chain/endpoints/feeHistory.js'
import { type Fees, feeCap } from '../../ledger/fees.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { decodeHeader, decodeQuantity, headerCall } from '../../rpc/codec.js'
import { isMethodRefused } from '../../rpc/errors.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { FeePolicy, FeePreset } from '../../types/index.js'

/** The price of gas according to a node, the chain's own estimate or the caller's estimate. */
export type Price =
  /**
   * A tip on top of the base fee of the newest block, which the poller reads anyway: one for all presets, or
   * one per preset.
   */
  | { readonly kind: 'tips'; readonly tips: bigint | Tips }
  /** The price on a chain without a base fee. */
  | { readonly kind: 'gasPrice'; readonly wei: bigint }
  /** Fees that are offered unchanged for every preset. */
  | { readonly kind: 'fees'; readonly fees: Fees }

/** The source of a lane's price. */
type PriceSource = {
  /** Reads from the current reader, or from the given port. @throws if there is no answer */
  read(port?: Port): Promise<Price>
  /** The caller or the chain's definition supplies the price, not a node. */
  readonly isOwn: boolean
}

// The base fee rises by at most an eighth per block (EIP-1559), so twice the base fee covers five full
// blocks.
const BASE_FEE_FACTOR = 2n
// Minimum of geth's pool (ethereum/go-ethereum core/txpool/legacypool: PriceLimit); its cost is negligible.
const LEAST_TIP_WEI = 1n
/** Percentage of the node's gas price, which has no percentiles. Without a preset as for `normal`. */
const GAS_PRICE_PERCENT = { economy: 100n, normal: 120n, urgent: 150n } as const satisfies Record<
  FeePreset,
  bigint
>

/** The fees to offer at this price. Undefined if that needs a base fee and there is none. */
export function offerAt(
  price: Price,
  preset: FeePreset | undefined,
  baseFee: bigint | undefined,
): Fees | undefined {
  if (price.kind === 'fees') return price.fees
  if (price.kind === 'gasPrice')
    return { gasPrice: (price.wei * GAS_PRICE_PERCENT[preset ?? 'normal']) / 100n }
  if (baseFee === undefined) return undefined
  const { tips } = price
  const tip = atLeast(typeof tips === 'bigint' ? tips : tips[preset ?? 'normal'], LEAST_TIP_WEI)
  return { maxFeePerGas: baseFee * BASE_FEE_FACTOR + tip, maxPriorityFeePerGas: tip }
}

/** Whether `one` is less than `other`, for the same preset and base fee. */
export function isLess(one: Price, other: Price, baseFee: bigint | undefined): boolean {
  const [a, b] = [one, other].map((price) => offerAt(price, undefined, baseFee))
  return a !== undefined && b !== undefined && feeCap(a) < feeCap(b)
}

/** The source without presets: the suggestion of the node, the caller's own estimate, or the chain's. */
export function suggestedPrices(
  endpointPool: Pick<EndpointPool, 'chain' | 'client' | 'feeHistory' | 'reader' | 'tracker'>,
  estimate: FeePolicy<Chain>['estimate'],
  timeoutMs: number,
): PriceSource {
  const own = estimate ?? chainEstimate(endpointPool.chain)
  return {
    isOwn: own !== undefined,
    async read(port = endpointPool.reader.port) {
      if (own) return { kind: 'fees', fees: feesOf(await own({ client: endpointPool.client })) }
      return endpointPool.tracker.newest?.baseFeePerGas === undefined
        ? { kind: 'gasPrice', wei: await askGasPrice(port, timeoutMs) }
        : { kind: 'tips', tips: await askTip(port, timeoutMs) }
    },
  }
}

/**
 * The source for presets: the tips paid in recent blocks. Falls back to the source without presets if the fee
 * history is unavailable or the chain has no base fee, because an endpoint without history may still suggest
 * a price.
 */
export function presetPrices(
  endpointPool: Pick<EndpointPool, 'chain' | 'client' | 'feeHistory' | 'reader' | 'tracker'>,
  suggested: PriceSource,
): PriceSource {
  return {
    isOwn: suggested.isOwn,
    async read(port) {
      if (suggested.isOwn || endpointPool.tracker.newest?.baseFeePerGas === undefined)
        return suggested.read(port)
      const tips = await endpointPool.feeHistory.tips(port).catch(() => undefined)
      return tips === undefined ? suggested.read(port) : { kind: 'tips', tips }
    },
  }
}

/** @throws if the node did not answer: an invented tip may be a thousand times the chain's price */
async function askTip(port: Port, timeoutMs: number): Promise<bigint> {
  const method = 'eth_maxPriorityFeePerGas'
  const [reply] = await port.batch([{ method, params: [] }], { timeoutMs })
  const tip = quantity(reply)
  if (tip !== undefined) return tip
  // A temporary failure does not mean that the method is missing. A derived tip may be one that no pool
  // accepts.
  if (reply === undefined || reply.ok || !isMethodRefused(method, reply.failure))
    throw new Error(`${method} brought no answer${saidBy(reply)}`)
  return tipOfGasPrice(port, timeoutMs)
}

const GAS_PRICE: RpcCall = { method: 'eth_gasPrice', params: [] }

async function askGasPrice(port: Port, timeoutMs: number): Promise<bigint> {
  const [reply] = await port.batch([GAS_PRICE], { timeoutMs })
  const gasPrice = quantity(reply)
  if (gasPrice === undefined) throw new Error(`eth_gasPrice brought no answer${saidBy(reply)}`)
  return gasPrice
}

/** Derives the tip: the gas price for legacy transactions minus the base fee of the same moment. */
async function tipOfGasPrice(port: Port, timeoutMs: number): Promise<bigint> {
  const [price, header] = await port.batch([GAS_PRICE, headerCall('latest')], { timeoutMs })
  const gasPrice = quantity(price)
  const baseFee = header?.ok ? decodeHeader(header.result, 'eth_getBlockByNumber')?.baseFeePerGas : undefined
  if (gasPrice === undefined || baseFee === undefined)
    throw new Error(`eth_gasPrice brought no answer${saidBy(price)}`)
  return gasPrice - baseFee
}

/**
 * viem's chain definitions may have their own estimate (Celo does). Then viem's action is called, which
 * honours it.
 */
function chainEstimate(chain: Chain) {
  const fees = chain.fees
  if (!fees?.estimateFeesPerGas && !fees?.maxPriorityFeePerGas && !fees?.baseFeeMultiplier) return undefined
  return ({ client }: { client: Client<Transport, Chain> }): Promise<FeeValues> =>
    estimateFeesPerGas(client) as Promise<FeeValues>
}

function feesOf(values: FeeValues): Fees {
  if (values.gasPrice !== undefined) return { gasPrice: values.gasPrice }
  const { maxFeePerGas, maxPriorityFeePerGas } = values
  if (maxFeePerGas === undefined) throw new Error('fees.estimate gave neither gasPrice nor maxFeePerGas')
  return { maxFeePerGas, maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n }
}

const saidBy = (reply: RpcReply | undefined): string =>
  reply === undefined || reply.ok ? '' : `: ${reply.failure.message}`

function quantity(reply: RpcReply | undefined): bigint | undefined {
  if (!reply?.ok) return undefined
  try {
    return decodeQuantity(reply.result, 'fees')
  } catch {
    return undefined
  }
}

function atLeast(value: bigint, least: bigint): bigint {
  return value > least ? value : least
}

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
