import type { Tracker } from '../../chain/blocks/blockPoller.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import {
  type BumpRule,
  type FeeCeiling,
  type FeeNeeds,
  type Fees,
  feeCap,
  transactionCeiling,
} from '../../ledger/fees.js'
import { atFloor, beyond, loweredBy, NO_FLOOR, type PriceFloor, raisedBy } from '../../ledger/priceFloor.js'
import type { Clock } from '../../platform/clock.js'
import type { FeePreset, Limits } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import { ceilingOf, type FeeSettings } from '../session/feeSettings.js'
import { explicitFees } from './cost.js'
import {
  createMarketPrice,
  isLess,
  type MarketPrice,
  offerAt,
  type Price,
  presetPrices,
  suggestedPrices,
} from './prices.js'

/**
 * Fees for the whole lane. They are requested once a block (less often if blocks are fast), never per
 * transaction.
 */
export type FeeOracle = {
  /**
   * The current market price, raised to the minimum that refusals revealed, if that is within the ceiling
   * (@default that of transactions). Resolves at once if the price was just read, or in the same block. If
   * only the tip is needed it also resolves with a recent tip, and a new one is requested in the background.
   *
   * `preset`: a transaction's own. @default the lane's
   */
  market(within?: FeeCeiling, preset?: FeePreset): Promise<Fees>
  /**
   * Whether the transaction can be signed without a request for fees. Starts a background request if `market`
   * would.
   */
  known(transaction: Pick<StoredTransaction, 'request' | 'feePreset'>): boolean
  /**
   * Asks the other endpoints for their prices, and uses the lowest if it is below the known one. A ceiling
   * that was derived from the first answer is derived from this one instead. True if it is lower.
   */
  cheaperElsewhere(): Promise<boolean>
  /** The fees by the last answer, if there was one. */
  last(preset?: FeePreset): Fees | undefined
  /**
   * The lane's ceiling, which no-ops may reach. If none is configured, the first estimate at a verified block
   * fixes it.
   */
  laneCeiling(): FeeCeiling
  readonly rule: BumpRule
  /** Maximum number of bumps of one transaction. */
  readonly bumpsMax: number
  /** Base fee of the newest sealed block, if the chain has base fees. */
  baseFee(): bigint | undefined
  /** The OP stack's additional charge for `bytes` of a transaction, in wei; 0 on other chains. */
  dataFee(bytes: number): bigint
  /**
   * A node refused these fees as too low, and may have stated its minimum. All later signatures take it into
   * account. `again`: every send endpoint had been offered these fees before.
   */
  refused(offered: Fees, needs: FeeNeeds | undefined, again: boolean): void
  /** A node accepted these fees, so its minimum is not above them. */
  taken(offered: Fees): void
  /** The fee cap that a node stated as its minimum, in wei, if it is above the ceiling. */
  beyond(ceiling: FeeCeiling): bigint | undefined
  /** The same, if every endpoint refused it within the last blocks. Later the fees are tried again. */
  hopeless(ceiling: FeeCeiling): bigint | undefined
}

const CEILING_FACTOR = 10n
const BUMPS_MAX = 12

export function createFeeOracle(options: {
  endpointPool: Pick<
    EndpointPool,
    'chain' | 'client' | 'dataFees' | 'feeHistory' | 'others' | 'reader' | 'tracker'
  >
  settings: FeeSettings
  limits: Pick<Limits, 'readTimeoutMs'>
  clock: Pick<Clock, 'now' | 'setTimer'>
  /** Called when the price could not be read for a while and an older one is in use. */
  failed: (error: unknown) => void
}): FeeOracle {
  const { endpointPool, settings, clock, failed } = options
  const { bump, estimate } = settings.current
  const rule: BumpRule = { percent: bump?.percent ?? 10 }
  const suggested = suggestedPrices(endpointPool, estimate, options.limits.readTimeoutMs)
  const plain = priceOf(suggested)
  let presets: MarketPrice | undefined
  let estimated: FeeCeiling | undefined
  // The ceiling was derived from a price that was not checked against a verified block.
  let isTentative = false
  const minimum = createNodeMinimum(endpointPool.tracker, clock)

  function priceOf(source: typeof suggested): MarketPrice {
    const known = (price: Price, isBlind: boolean) => {
      if (estimated !== undefined && !isTentative) return
      estimated = ceilingAt(price)
      isTentative = isBlind
    }
    const beside = endpointPool.dataFees.sample
    return createMarketPrice({ endpointPool, source, clock, beside, known, failed })
  }

  const baseFee = () => endpointPool.tracker.newest?.baseFeePerGas
  const presetOf = (own: FeePreset | undefined) => own ?? settings.current.preset

  /**
   * The second market is created with the first preset, so that a lane without presets requests no fee
   * history.
   */
  function marketOf(preset: FeePreset | undefined): MarketPrice {
    if (preset === undefined) return plain
    presets ??= priceOf(presetPrices(endpointPool, suggested))
    return presets
  }

  function ceilingAt(price: Price): FeeCeiling | undefined {
    const fees = offerAt(price, settings.current.preset, baseFee())
    return fees && { maxFeePerGas: CEILING_FACTOR * feeCap(fees) }
  }

  function raised(fees: Fees, within?: FeeCeiling): Fees {
    if (!minimum.isKnown) return fees
    return minimum.raise(fees, within ?? transactionCeiling(laneCeiling(), rule))
  }

  function laneCeiling(): FeeCeiling {
    const given = ceilingOf(settings.current)
    if (given) return given
    // A transaction that waits at its ceiling does not request a price itself.
    if (isTentative && endpointPool.tracker.head !== undefined)
      for (const one of [plain, presets]) one?.refresh()
    return estimated ?? { maxFeePerGas: 2n ** 255n }
  }

  async function cheaperElsewhere(): Promise<boolean> {
    if (suggested.isOwn) return false
    const inUse = [
      { market: plain, source: suggested },
      ...(presets ? [{ market: presets, source: presetPrices(endpointPool, suggested) }] : []),
    ]
    const found = await Promise.all(inUse.map(({ market, source }) => learnCheaper(market, source)))
    return found.includes(true)
  }

  async function learnCheaper(market: MarketPrice, source: typeof suggested): Promise<boolean> {
    if (market.last === undefined) return false
    const asked = endpointPool.others().map(({ port }) => source.read(port).catch((): undefined => undefined))
    const said = (await Promise.all(asked)).filter((price) => price !== undefined)
    const least = said.reduce<Price>((low, one) => (isLess(one, low, baseFee()) ? one : low), market.last)
    if (least === market.last) return false
    market.know(least)
    estimated = ceilingAt(least)
    return true
  }

  return {
    async market(within, own) {
      const preset = presetOf(own)
      const market = marketOf(preset)
      const fees = offerAt(await market.read(), preset, baseFee())
      if (fees === undefined) throw new Error('the newest block has no base fee any more')
      return raised(fees, within)
    },
    known({ request, feePreset }) {
      const market = marketOf(presetOf(feePreset))
      if (explicitFees(request) === undefined) return market.atHand() !== undefined
      // Before the first answer neither the ceiling nor the data fee is known.
      const known = [plain, presets].find((one) => one?.last !== undefined)
      if (known === undefined) return false
      if (endpointPool.dataFees.isCharged) known.refresh()
      return true
    },
    cheaperElsewhere,
    last(own) {
      const preset = presetOf(own)
      const price = marketOf(preset).last ?? plain.last ?? presets?.last
      const fees = price && offerAt(price, preset, baseFee())
      return fees && raised(fees)
    },
    laneCeiling,
    refused: minimum.refused,
    taken: minimum.taken,
    beyond: minimum.beyond,
    hopeless: minimum.hopeless,
    rule,
    bumpsMax: bump?.attemptsMax ?? BUMPS_MAX,
    baseFee,
    dataFee: endpointPool.dataFees.of,
  }
}

/** The minimum fees of the node, as its refusals revealed them. */
type NodeMinimum = {
  /** See `FeeOracle`. */
  refused(offered: Fees, needs: FeeNeeds | undefined, again: boolean): void
  /** A node accepted these fees, so its minimum is not above them. */
  taken(offered: Fees): void
  /** The fee cap that a node stated as its minimum, in wei, if it is above the ceiling. */
  beyond(ceiling: FeeCeiling): bigint | undefined
  /** The same, if every endpoint refused it within the last blocks. Later the fees are tried again. */
  hopeless(ceiling: FeeCeiling): bigint | undefined
  /** False while no refusal has revealed a minimum. */
  readonly isKnown: boolean
  /**
   * Raises the fees to the minimum. A minimum above the ceiling is ignored, since it is no reason to offer
   * the ceiling.
   */
  raise(fees: Fees, ceiling: FeeCeiling): Fees
}

/**
 * For at least this long after a refusal that no bump within the ceiling can cure, no such transaction is
 * offered.
 */
const HOPELESS_KEPT_MS = 10_000
const HOPELESS_KEPT_BLOCKS = 4

function createNodeMinimum(
  tracker: Pick<Tracker, 'newest' | 'blockMs'>,
  clock: Pick<Clock, 'now'>,
): NodeMinimum {
  let floor: PriceFloor = NO_FLOOR
  let confirmedAtMs = Number.NEGATIVE_INFINITY

  return {
    refused(offered, needs, again) {
      const nowMs = clock.now()
      if (again) confirmedAtMs = nowMs
      floor = raisedBy(floor, { offered, needs, baseFee: tracker.newest?.baseFeePerGas, nowMs })
    },
    taken(offered) {
      if (floor !== NO_FLOOR) floor = loweredBy(floor, offered)
    },
    beyond: ({ maxFeePerGas }) => beyond(floor, maxFeePerGas, clock.now()),
    hopeless({ maxFeePerGas }) {
      const nowMs = clock.now()
      const keptMs = Math.max(HOPELESS_KEPT_MS, HOPELESS_KEPT_BLOCKS * (tracker.blockMs ?? 0))
      return nowMs - confirmedAtMs <= keptMs ? beyond(floor, maxFeePerGas, nowMs) : undefined
    },
    get isKnown() {
      return floor !== NO_FLOOR
    },
    raise(fees, { maxFeePerGas }) {
      const nowMs = clock.now()
      return beyond(floor, maxFeePerGas, nowMs) === undefined ? atFloor(fees, floor, nowMs) : fees
    },
  }
}
