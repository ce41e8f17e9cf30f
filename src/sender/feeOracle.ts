import {
  type Chain,
  type Client,
  encodeFunctionData,
  type FeeValues,
  hexToBigInt,
  type Transport,
} from 'viem'
import { estimateFeesPerGas } from 'viem/actions'
import { type BumpRule, capped, type FeeCeiling, type Fees, transactionCeiling } from '../ledger/fees.js'
import { decodeQuantity } from '../rpc/codec.js'
import type { RpcCall, RpcReply } from '../rpc/port.js'
import type { FeePolicy } from '../types.js'
import type { Hub } from './hub.js'

/** Fees for the whole lane, asked for once a block and not per transaction. */
export type FeeOracle = {
  /** What the market asks now. Resolves at once while the block is the same. */
  market(): Promise<Fees>
  /** The last answer, if there ever was one. */
  readonly last: Fees | undefined
  /** The lane's ceiling, which no-ops may reach; fixed with the first estimate unless it was given. */
  laneCeiling(): FeeCeiling
  /** Two bump steps below it, or what the transaction itself allows. */
  transactionCeiling(own: bigint | undefined): FeeCeiling
  readonly rule: BumpRule
  /** Base fee of the newest sealed block, where the chain has one. */
  baseFee(): bigint | undefined
  /** What the OP stack charges on top for `bytes` of a transaction, in wei; 0 elsewhere. */
  dataFee(bytes: number): bigint
}

const CEILING_FACTOR = 10n
// Between two blocks the base fee rises by an eighth at most (EIP-1559): doubled, it holds for five full blocks.
const BASE_FEE_FACTOR = 2n
const DATA_FEE_SAMPLE_BYTES = 1_000n

// GasPriceOracle.getL1FeeUpperBound(uint256 unsignedTxSize): ethereum-optimism/optimism
// packages/contracts-bedrock/src/L2/GasPriceOracle.sol, since Fjord.
const upperBoundAbi = [
  {
    type: 'function',
    name: 'getL1FeeUpperBound',
    stateMutability: 'view',
    inputs: [{ name: 'size', type: 'uint256' }],
    outputs: [{ type: 'uint256' }],
  },
] as const

export function createFeeOracle(options: {
  hub: Hub
  policy: FeePolicy<Chain> | undefined
  timeoutMs: number
}): FeeOracle {
  const { hub, policy } = options
  const rule: BumpRule = { percent: policy?.bump?.percent ?? 10 }
  let ceiling: FeeCeiling | undefined = givenCeiling(policy)
  let last: Fees | undefined
  let lastBlock: string | undefined
  let asking: Promise<Fees> | undefined
  let dataFeeSample = 0n

  async function ask(): Promise<Fees> {
    const block = hub.tracker.head?.hash
    const custom = policy?.estimate ?? chainEstimate(hub.chain)
    const fees = custom ? feesOf(await custom({ client: hub.client })) : await estimate()
    await sampleDataFee()
    last = fees
    lastBlock = block
    ceiling ??= { maxFeePerGas: CEILING_FACTOR * cap(fees) }
    return fees
  }

  /** Ours: from the head that the poller has anyway, and one call for the tip. */
  async function estimate(): Promise<Fees> {
    const baseFee = hub.tracker.head?.baseFeePerGas
    if (baseFee === undefined) {
      const gasPrice = quantity(await request({ method: 'eth_gasPrice', params: [] }))
      if (gasPrice === undefined) throw new Error('eth_gasPrice brought no answer')
      return { gasPrice: (gasPrice * 12n) / 10n }
    }
    const tip = await askTip(baseFee)
    return { maxFeePerGas: baseFee * BASE_FEE_FACTOR + tip, maxPriorityFeePerGas: tip }
  }

  /** @throws where no word of the node was had: a tip out of the air may be a thousand times what the chain asks. */
  async function askTip(baseFee: bigint): Promise<bigint> {
    const reply = await request({ method: 'eth_maxPriorityFeePerGas', params: [] })
    const tip = quantity(reply)
    if (tip !== undefined) return tip
    if (!refused(reply)) throw new Error('eth_maxPriorityFeePerGas brought no answer')
    // Not every node has it; what it asks for a legacy transaction holds the tip as well.
    const gasPrice = quantity(await request({ method: 'eth_gasPrice', params: [] }))
    if (gasPrice === undefined) throw new Error('eth_gasPrice brought no answer')
    return gasPrice > baseFee ? gasPrice - baseFee : 0n
  }

  async function sampleDataFee(): Promise<void> {
    const oracle = hub.chain.contracts?.gasPriceOracle as { address?: `0x${string}` } | undefined
    if (!oracle?.address) return
    const data = encodeFunctionData({ abi: upperBoundAbi, args: [DATA_FEE_SAMPLE_BYTES] })
    const reply = await request({ method: 'eth_call', params: [{ to: oracle.address, data }, 'latest'] })
    if (reply?.ok && typeof reply.result === 'string' && reply.result.length === 66) {
      dataFeeSample = hexToBigInt(reply.result as `0x${string}`)
    }
  }

  async function request(call: RpcCall): Promise<RpcReply | undefined> {
    const [reply] = await hub.reader.port.batch([call], { timeoutMs: options.timeoutMs })
    return reply
  }

  return {
    market() {
      if (last !== undefined && lastBlock === hub.tracker.head?.hash) return Promise.resolve(last)
      // A failure is not kept: the next one asks again. With an older answer at hand the lane goes on with that.
      asking ??= ask().finally(() => {
        asking = undefined
      })
      const older = last
      return older === undefined ? asking : asking.catch(() => older)
    },
    get last() {
      return last
    },
    laneCeiling: () => ceiling ?? { maxFeePerGas: 2n ** 255n },
    transactionCeiling(own) {
      const usual = transactionCeiling(ceiling ?? { maxFeePerGas: 2n ** 255n }, rule)
      return own !== undefined && own < usual.maxFeePerGas ? { maxFeePerGas: own } : usual
    },
    rule,
    baseFee: () => hub.tracker.head?.baseFeePerGas,
    dataFee: (bytes) => (dataFeeSample * BigInt(bytes) + DATA_FEE_SAMPLE_BYTES - 1n) / DATA_FEE_SAMPLE_BYTES,
  }
}

/** Fees within the ceiling: what a first attempt offers. */
export function firstFees(market: Fees, ceiling: FeeCeiling): Fees {
  return capped(market, ceiling)
}

function givenCeiling(policy: FeePolicy<Chain> | undefined): FeeCeiling | undefined {
  const limit = policy?.ceiling?.maxFeePerGas ?? policy?.ceiling?.gasPrice
  return limit === undefined ? undefined : { maxFeePerGas: limit }
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

function cap(fees: Fees): bigint {
  return 'gasPrice' in fees ? fees.gasPrice : fees.maxFeePerGas
}

/** The node's own word, and not a number. */
function refused(reply: RpcReply | undefined): boolean {
  return reply !== undefined && !reply.ok && reply.failure.kind === 'rpc'
}

function quantity(reply: RpcReply | undefined): bigint | undefined {
  if (!reply?.ok) return undefined
  try {
    return decodeQuantity(reply.result, 'fees')
  } catch {
    return undefined
  }
}
