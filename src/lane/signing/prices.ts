import type { Chain, Client, FeeValues, Transport } from 'viem'
import { estimateFeesPerGas } from 'viem/actions'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Tips } from '../../chain/endpoints/tips.js'
import { type Fees, feeCap } from '../../ledger/fees.js'
import { decodeHeader, decodeQuantity, headerCall } from '../../rpc/codec.js'
import { isMethodRefused } from '../../rpc/errors.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { FeePolicy, FeePreset } from '../../types/index.js'

/** What a node, a chain's own estimate or the caller's says that gas costs. */
export type Price =
  /** Beside the base fee of the newest block, which the poller has anyway: one for all presets, or one for each. */
  | { readonly kind: 'tips'; readonly tips: bigint | Tips }
  /** Of a chain without a base fee. */
  | { readonly kind: 'gasPrice'; readonly wei: bigint }
  /** As it is offered, whatever the preset. */
  | { readonly kind: 'fees'; readonly fees: Fees }

/** Where a lane reads the price. */
export type PriceSource = {
  /** By the endpoint that is read, or by the port that is given. @throws where it brought no answer */
  read(port?: Port): Promise<Price>
  /** Nobody but the caller, or the chain's definition, says what gas costs. */
  readonly isOwn: boolean
}

// Between two blocks the base fee rises by an eighth at most (EIP-1559): doubled, it holds for five full blocks.
const BASE_FEE_FACTOR = 2n
// The pool of geth takes no less (ethereum/go-ethereum core/txpool/legacypool: PriceLimit), and it costs next to nothing.
const LEAST_TIP_WEI = 1n
/** Of what the node asks for, in percent: a gas price has no percentiles. Without a preset as for `normal`. */
const GAS_PRICE_PERCENT = { economy: 100n, normal: 120n, urgent: 150n } as const satisfies Record<
  FeePreset,
  bigint
>

/** What is offered at this price. Undefined where that takes a base fee, and there is none. */
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

/** Whether one is less than the other, for the same preset and beside the same base fee. */
export function isLess(one: Price, other: Price, baseFee: bigint | undefined): boolean {
  const [a, b] = [one, other].map((price) => offerAt(price, undefined, baseFee))
  return a !== undefined && b !== undefined && feeCap(a) < feeCap(b)
}

/** Without presets: what the node suggests, the caller's own estimate, or the chain's. */
export function suggestedPrices(
  endpointPool: EndpointPool,
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
 * For presets: what blocks paid. Where that cannot be had, or the chain has no base fee, what goes without presets: an
 * endpoint that does not answer for the past may say what it takes now.
 */
export function presetPrices(endpointPool: EndpointPool, suggested: PriceSource): PriceSource {
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

/** @throws where no word of the node was had: a tip out of the air may be a thousand times what the chain asks. */
async function askTip(port: Port, timeoutMs: number): Promise<bigint> {
  const method = 'eth_maxPriorityFeePerGas'
  const [reply] = await port.batch([{ method, params: [] }], { timeoutMs })
  const tip = quantity(reply)
  if (tip !== undefined) return tip
  // A failure that passes is no absence: a tip that is derived in its stead may be one that no pool takes.
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

/** What the node asks for a legacy transaction holds the tip, above the base fee of the same moment. */
async function tipOfGasPrice(port: Port, timeoutMs: number): Promise<bigint> {
  const [price, header] = await port.batch([GAS_PRICE, headerCall('latest')], { timeoutMs })
  const gasPrice = quantity(price)
  const baseFee = header?.ok ? decodeHeader(header.result, 'eth_getBlockByNumber')?.baseFeePerGas : undefined
  if (gasPrice === undefined || baseFee === undefined)
    throw new Error(`eth_gasPrice brought no answer${saidBy(price)}`)
  return gasPrice - baseFee
}

/** viem's chain definitions may bring their own estimate (Celo does): then viem's action is asked, which honours it. */
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
