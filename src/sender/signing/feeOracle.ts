import {
  type Chain,
  type Client,
  encodeFunctionData,
  type FeeValues,
  hexToBigInt,
  type Transport,
} from 'viem'
import { estimateFeesPerGas } from 'viem/actions'
import type { Clock } from '../../clock.js'
import {
  type BumpRule,
  type FeeCeiling,
  type FeeNeeds,
  type Fees,
  transactionCeiling,
} from '../../ledger/fees.js'
import { atFloor, beyond, loweredBy, NO_FLOOR, type PriceFloor, raisedBy } from '../../ledger/priceFloor.js'
import type { BlockRef } from '../../ledger/slot.js'
import { decodeHeader, decodeQuantity, headerCall } from '../../rpc/codec.js'
import { isMethodRefused } from '../../rpc/errors.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { FeePolicy, Limits, TxRequest } from '../../types.js'
import type { Hub } from '../nodes/hub.js'

/** Fees for the whole lane, asked for once a block, where blocks are fast less often, and never per transaction. */
export type FeeOracle = {
  /**
   * What the market asks now, and at least what refusals taught of the node's least fees, where that is within the
   * ceiling (@default that of transactions). Resolves at once while that was asked just before, or in the same block; and, where the
   * tip is all that would be asked for, while that is not old: then it is asked for beside.
   */
  market(within?: FeeCeiling): Promise<Fees>
  /** Whether nothing needs to be asked for before this is signed. It asks beside, where `market` would. */
  known(request: TxRequest): boolean
  /**
   * Asks the other endpoints what they take, and goes by the least of that where it is less than what is known; a ceiling
   * that followed from the first answer follows from this one then. True where it is less.
   */
  cheaperElsewhere(): Promise<boolean>
  /** The last answer, if there ever was one. */
  readonly last: Fees | undefined
  /** The lane's ceiling, which no-ops may reach; fixed with the first estimate beside a block unless it was given. */
  laneCeiling(): FeeCeiling
  readonly rule: BumpRule
  /** Of one transaction. */
  readonly bumpsMax: number
  /** Base fee of the newest sealed block, where the chain has one. */
  baseFee(): bigint | undefined
  /** What the OP stack charges on top for `bytes` of a transaction, in wei; 0 elsewhere. */
  dataFee(bytes: number): bigint
  /**
   * A node refused these fees as too low, and may have named what it takes. All that is signed from now on knows it.
   * `again`: they had been offered before, to every endpoint that is sent to.
   */
  refused(offered: Fees, needs: FeeNeeds | undefined, again: boolean): void
  /** A node took these fees: its floor is not above them. */
  taken(offered: Fees): void
  /** The least fee cap that a node named as its minimum, in wei, where it is above the ceiling. */
  beyond(ceiling: FeeCeiling): bigint | undefined
  /** The same, where a refusal by every endpoint in the last blocks confirmed it: after that it is tried again. */
  hopeless(ceiling: FeeCeiling): bigint | undefined
}

const CEILING_FACTOR = 10n
/** After an answer that failed, doubled with each. */
const PAUSE_MS = 500
const PAUSE_MS_MAX = 10_000
/** One lost answer is no news. */
const OLD_AFTER = 2
const BUMPS_MAX = 12
// Between two blocks the base fee rises by an eighth at most (EIP-1559): doubled, it holds for five full blocks.
const BASE_FEE_FACTOR = 2n
// Where blocks are faster than once a second an answer serves several: fewer than the doubled base fee holds for.
const FRESH_MS = 1_000
const FRESH_BLOCKS = 4
// What asks for the next places in a block is another one by then; where blocks are slow a question costs nothing.
const TIP_KEPT_MS = 10_000
// The pool of geth takes no less (ethereum/go-ethereum core/txpool/legacypool: PriceLimit), and it costs next to nothing.
const LEAST_TIP_WEI = 1n
const DATA_FEE_SAMPLE_BYTES = 1_000n
/** For so long after a refusal that no bump within the ceiling cures, nothing new is offered in vain: at least this. */
const HOPELESS_KEPT_MS = 10_000
const HOPELESS_KEPT_BLOCKS = 4

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
  limits: Pick<Limits, 'readTimeoutMs'>
  clock: Pick<Clock, 'now' | 'setTimer'>
  /** It could not be asked for a while, and an older answer is used. */
  failed: (error: unknown) => void
}): FeeOracle {
  const { hub, policy } = options
  const rule: BumpRule = { percent: policy?.bump?.percent ?? 10 }
  const custom = policy?.estimate ?? chainEstimate(hub.chain)
  const { address: dataFeeOracle } = (hub.chain.contracts?.gasPriceOracle ?? {}) as {
    address?: `0x${string}`
  }
  let ceiling: FeeCeiling | undefined = givenCeiling(policy)
  // The newest price was held against no block that was walked: it may lie below the base fee, and nothing would land.
  let isBlind = false
  // The ceiling follows from such a price.
  let isTentative = false
  let last: Fees | undefined
  let lastHead: BlockRef | undefined
  let lastAtMs = 0
  let asking: Promise<Fees> | undefined
  let dataFeeSample = 0n
  let besides = false
  let failures = 0
  let notBeforeMs = Number.NEGATIVE_INFINITY
  let tip: { readonly wei: bigint; readonly atMs: number } | undefined
  let floor: PriceFloor = NO_FLOOR
  let confirmedAtMs = Number.NEGATIVE_INFINITY

  async function ask(): Promise<Fees> {
    const { newest: head } = hub.tracker
    const nowMs = options.clock.now()
    const [fees] = await Promise.all([
      custom ? custom({ client: hub.client }).then(feesOf) : estimate(hub.reader.port),
      sampleDataFee(),
    ])
    know(fees, head, nowMs)
    isBlind = hub.tracker.head === undefined
    fixCeiling(fees)
    return fees
  }

  function fixCeiling(fees: Fees): void {
    if (ceiling !== undefined && !isTentative) return
    ceiling = ceilingOf(fees)
    isTentative = isBlind
  }

  function know(fees: Fees, head: BlockRef | undefined, atMs: number): void {
    last = fees
    lastHead = head
    lastAtMs = atMs
    tip =
      'gasPrice' in fees || custom ? undefined : { wei: fees.maxPriorityFeePerGas, atMs: options.clock.now() }
  }

  /** Ours: from the newest block, which the poller has anyway, and one call for the tip. */
  async function estimate(port: Port): Promise<Fees> {
    const baseFee = hub.tracker.newest?.baseFeePerGas
    if (baseFee === undefined) {
      const [reply] = await batch(port, [{ method: 'eth_gasPrice', params: [] }])
      const gasPrice = quantity(reply)
      if (gasPrice === undefined) throw new Error(`eth_gasPrice brought no answer${saidBy(reply)}`)
      return { gasPrice: (gasPrice * 12n) / 10n }
    }
    return above(baseFee, atLeast(await askTip(port), LEAST_TIP_WEI))
  }

  async function cheaperElsewhere(): Promise<boolean> {
    if (custom || last === undefined) return false
    const { newest: head } = hub.tracker
    const asked = hub.others().map(({ port }) => estimate(port).catch((): undefined => undefined))
    const said = (await Promise.all(asked)).filter((fees) => fees !== undefined)
    const [least] = said.sort((a, b) => (cap(a) < cap(b) ? -1 : 1))
    if (least === undefined || cap(least) >= cap(last)) return false
    know(least, head, options.clock.now())
    ceiling = givenCeiling(policy) ?? ceilingOf(least)
    return true
  }

  /** From the newest head, with a tip that is not old. */
  function derived(): Fees | undefined {
    const baseFee = hub.tracker.newest?.baseFeePerGas
    if (baseFee === undefined || tip === undefined || options.clock.now() - tip.atMs > TIP_KEPT_MS)
      return undefined
    return above(baseFee, tip.wei)
  }

  /** @throws where no word of the node was had: a tip out of the air may be a thousand times what the chain asks. */
  async function askTip(port: Port): Promise<bigint> {
    const method = 'eth_maxPriorityFeePerGas'
    const [reply] = await batch(port, [{ method, params: [] }])
    const tip = quantity(reply)
    if (tip !== undefined) return tip
    // A failure that passes is no absence: a tip that is derived in its stead may be one that no pool takes.
    if (reply === undefined || reply.ok || !isMethodRefused(method, reply.failure))
      throw new Error(`${method} brought no answer${saidBy(reply)}`)
    return tipOfGasPrice(port)
  }

  /** What the node asks for a legacy transaction holds the tip, above the base fee of the same moment. */
  async function tipOfGasPrice(port: Port): Promise<bigint> {
    const [price, header] = await batch(port, [{ method: 'eth_gasPrice', params: [] }, headerCall('latest')])
    const gasPrice = quantity(price)
    const baseFee = header?.ok
      ? decodeHeader(header.result, 'eth_getBlockByNumber')?.baseFeePerGas
      : undefined
    if (gasPrice === undefined || baseFee === undefined)
      throw new Error(`eth_gasPrice brought no answer${saidBy(price)}`)
    return gasPrice - baseFee
  }

  async function sampleDataFee(): Promise<void> {
    if (dataFeeOracle === undefined) return
    const data = encodeFunctionData({ abi: upperBoundAbi, args: [DATA_FEE_SAMPLE_BYTES] })
    const call = { method: 'eth_call', params: [{ to: dataFeeOracle, data }, 'latest'] }
    const [reply] = await batch(hub.reader.port, [call])
    if (reply?.ok && typeof reply.result === 'string' && reply.result.length === 66) {
      dataFeeSample = hexToBigInt(reply.result as `0x${string}`)
    }
  }

  function batch(port: Port, calls: readonly RpcCall[]): Promise<readonly RpcReply[]> {
    return port.batch(calls, { timeoutMs: options.limits.readTimeoutMs })
  }

  function isFresh(): boolean {
    const { newest: head } = hub.tracker
    if (head?.hash === lastHead?.hash) return true
    if (isBlind) return false
    const isRecent = options.clock.now() - lastAtMs < FRESH_MS
    return isRecent && head !== undefined && head.number - (lastHead?.number ?? 0) <= FRESH_BLOCKS
  }

  /**
   * A failure is not kept: who has nothing asks again, at a pace of his own. With an older answer at hand the lane goes on
   * with that, and it is asked again after a pause.
   */
  function asked(older: Fees | undefined): Promise<Fees> {
    if (older !== undefined && options.clock.now() < notBeforeMs) return Promise.resolve(older)
    asking ??= ask().then(
      (fees) => {
        asking = undefined
        failures = 0
        notBeforeMs = Number.NEGATIVE_INFINITY
        return fees
      },
      (error: unknown) => {
        asking = undefined
        notBeforeMs = options.clock.now() + Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** failures)
        // Once: what is offered meanwhile was right some blocks ago.
        if (last !== undefined && failures === OLD_AFTER) options.failed(error)
        failures++
        throw error
      },
    )
    return older === undefined ? asking : asking.catch(() => older)
  }

  /** What is about to leave leaves first. */
  function askBeside(older: Fees): void {
    if (isFresh() || asking !== undefined || besides || options.clock.now() < notBeforeMs) return
    besides = true
    options.clock.setTimer(() => {
      besides = false
      void asked(older)
    }, 0)
  }

  /** What is known without an answer. */
  function atHand(): Fees | undefined {
    const isDerived = last === undefined || !isFresh()
    const fees = isDerived ? derived() : last
    if (fees === undefined) return undefined
    last = fees
    if (isBlind && hub.tracker.head !== undefined) {
      isBlind = false
      fixCeiling(fees)
    }
    if (isDerived) askBeside(fees)
    return fees
  }

  /** A floor that the lane's ceiling does not reach is no reason to offer the ceiling. */
  function floored(fees: Fees, within?: FeeCeiling): Fees {
    if (floor === NO_FLOOR) return fees
    const nowMs = options.clock.now()
    const { maxFeePerGas } = within ?? transactionCeiling(laneCeiling(), rule)
    return beyond(floor, maxFeePerGas, nowMs) === undefined ? atFloor(fees, floor, nowMs) : fees
  }

  function laneCeiling(): FeeCeiling {
    // What waits at its ceiling asks for no price by itself.
    if (isTentative && last !== undefined && hub.tracker.head !== undefined) askBeside(last)
    return ceiling ?? { maxFeePerGas: 2n ** 255n }
  }

  return {
    async market(within) {
      return floored(atHand() ?? (await asked(last)), within)
    },
    known(request) {
      if (explicitFees(request) === undefined) return atHand() !== undefined
      // Before the first answer there is no ceiling, and the data fee is not known.
      if (last === undefined) return false
      if (dataFeeOracle !== undefined) askBeside(last)
      return true
    },
    cheaperElsewhere,
    get last() {
      return last && floored(last)
    },
    laneCeiling,
    refused(offered, needs, again) {
      const nowMs = options.clock.now()
      if (again) confirmedAtMs = nowMs
      floor = raisedBy(floor, { offered, needs, baseFee: hub.tracker.newest?.baseFeePerGas, nowMs })
    },
    taken(offered) {
      if (floor !== NO_FLOOR) floor = loweredBy(floor, offered)
    },
    beyond: ({ maxFeePerGas }) => beyond(floor, maxFeePerGas, options.clock.now()),
    hopeless({ maxFeePerGas }) {
      const nowMs = options.clock.now()
      const keptMs = Math.max(HOPELESS_KEPT_MS, HOPELESS_KEPT_BLOCKS * (hub.tracker.blockMs ?? 0))
      return nowMs - confirmedAtMs <= keptMs ? beyond(floor, maxFeePerGas, nowMs) : undefined
    },
    rule,
    bumpsMax: policy?.bump?.attemptsMax ?? BUMPS_MAX,
    baseFee: () => hub.tracker.newest?.baseFeePerGas,
    dataFee: (bytes) => (dataFeeSample * BigInt(bytes) + DATA_FEE_SAMPLE_BYTES - 1n) / DATA_FEE_SAMPLE_BYTES,
  }
}

/** Fees in the request are the first attempt. */
export function explicitFees(request: TxRequest): Fees | undefined {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = request as Record<string, bigint | undefined>
  if (gasPrice !== undefined) return { gasPrice }
  if (maxFeePerGas === undefined) return undefined
  const tip = maxPriorityFeePerGas ?? maxFeePerGas
  return sameAsBefore({ maxFeePerGas, maxPriorityFeePerGas: tip < maxFeePerGas ? tip : maxFeePerGas })
}

type CappedFees = Extract<Fees, { maxFeePerGas: bigint }>
let before: CappedFees | undefined

/** What goes out together is mostly given the same: one object for all of it. */
function sameAsBefore(fees: CappedFees): CappedFees {
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  if (before?.maxFeePerGas !== maxFeePerGas || before.maxPriorityFeePerGas !== maxPriorityFeePerGas)
    before = fees
  return before
}

function above(baseFee: bigint, tip: bigint): Fees {
  return { maxFeePerGas: baseFee * BASE_FEE_FACTOR + tip, maxPriorityFeePerGas: tip }
}

function ceilingOf(fees: Fees): FeeCeiling {
  return { maxFeePerGas: CEILING_FACTOR * cap(fees) }
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

function atLeast(value: bigint, least: bigint): bigint {
  return value > least ? value : least
}

function cap(fees: Fees): bigint {
  return 'gasPrice' in fees ? fees.gasPrice : fees.maxFeePerGas
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
