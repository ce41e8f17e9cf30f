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
import { ceilingOf, type FeeSettings } from '../session/feeSettings.js'
import type { Transaction } from '../transaction/transaction.js'
import { explicitFees } from './explicitFees.js'
import { createMarketPrice, type MarketPrice } from './marketPrice.js'
import { isLess, offerAt, type Price, presetPrices, suggestedPrices } from './prices.js'

/** Fees for the whole lane, asked for once a block, where blocks are fast less often, and never per transaction. */
export type FeeOracle = {
  /**
   * What the market asks now, and at least what refusals taught of the node's least fees, where that is within the
   * ceiling (@default that of transactions). Resolves at once while that was asked just before, or in the same block; and, where the
   * tip is all that would be asked for, while that is not old: then it is asked for beside.
   *
   * `preset`: a transaction's own. @default the lane's
   */
  market(within?: FeeCeiling, preset?: FeePreset): Promise<Fees>
  /** Whether nothing needs to be asked for before this is signed. It asks beside, where `market` would. */
  known(transaction: Pick<Transaction, 'request' | 'feePreset'>): boolean
  /**
   * Asks the other endpoints what they take, and goes by the least of that where it is less than what is known; a ceiling
   * that followed from the first answer follows from this one then. True where it is less.
   */
  cheaperElsewhere(): Promise<boolean>
  /** By the last answer, if there ever was one. */
  last(preset?: FeePreset): Fees | undefined
  /** The lane's ceiling, which no-ops may reach. Where none is given, it is fixed with the first estimate beside a block. */
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
const BUMPS_MAX = 12
/** For so long after a refusal that no bump within the ceiling cures, nothing new is offered in vain: at least this. */
const HOPELESS_KEPT_MS = 10_000
const HOPELESS_KEPT_BLOCKS = 4

export function createFeeOracle(options: {
  endpointPool: EndpointPool
  settings: FeeSettings
  limits: Pick<Limits, 'readTimeoutMs'>
  clock: Pick<Clock, 'now' | 'setTimer'>
  /** It could not be asked for a while, and an older answer is used. */
  failed: (error: unknown) => void
}): FeeOracle {
  const { endpointPool, settings, clock, failed } = options
  const { bump, estimate } = settings.current
  const rule: BumpRule = { percent: bump?.percent ?? 10 }
  const suggested = suggestedPrices(endpointPool, estimate, options.limits.readTimeoutMs)
  const plain = priceOf(suggested)
  let presets: MarketPrice | undefined
  let estimated: FeeCeiling | undefined
  // The ceiling follows from a price that was held against no block that was walked.
  let isTentative = false
  let floor: PriceFloor = NO_FLOOR
  let confirmedAtMs = Number.NEGATIVE_INFINITY

  function priceOf(source: typeof suggested): MarketPrice {
    const known = (price: Price, isBlind: boolean) => {
      if (estimated !== undefined && !isTentative) return
      estimated = ceilingAt(price)
      isTentative = isBlind
    }
    return createMarketPrice({
      endpointPool,
      source,
      clock,
      beside: endpointPool.dataFees.sample,
      known,
      failed,
    })
  }

  const baseFee = () => endpointPool.tracker.newest?.baseFeePerGas
  const presetOf = (own: FeePreset | undefined) => own ?? settings.current.preset

  /** Made with the first preset: a lane without one asks for no history. */
  function marketOf(preset: FeePreset | undefined): MarketPrice {
    if (preset === undefined) return plain
    presets ??= priceOf(presetPrices(endpointPool, suggested))
    return presets
  }

  function ceilingAt(price: Price): FeeCeiling | undefined {
    const fees = offerAt(price, settings.current.preset, baseFee())
    return fees && { maxFeePerGas: CEILING_FACTOR * feeCap(fees) }
  }

  /** A floor that the lane's ceiling does not reach is no reason to offer the ceiling. */
  function floored(fees: Fees, within?: FeeCeiling): Fees {
    if (floor === NO_FLOOR) return fees
    const nowMs = clock.now()
    const { maxFeePerGas } = within ?? transactionCeiling(laneCeiling(), rule)
    return beyond(floor, maxFeePerGas, nowMs) === undefined ? atFloor(fees, floor, nowMs) : fees
  }

  function laneCeiling(): FeeCeiling {
    const given = ceilingOf(settings.current)
    if (given) return given
    // What waits at its ceiling asks for no price by itself.
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
      return floored(fees, within)
    },
    known({ request, feePreset }) {
      const market = marketOf(presetOf(feePreset))
      if (explicitFees(request) === undefined) return market.atHand() !== undefined
      // Before the first answer there is no ceiling, and the data fee is not known.
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
      return fees && floored(fees)
    },
    laneCeiling,
    refused(offered, needs, again) {
      const nowMs = clock.now()
      if (again) confirmedAtMs = nowMs
      floor = raisedBy(floor, { offered, needs, baseFee: baseFee(), nowMs })
    },
    taken(offered) {
      if (floor !== NO_FLOOR) floor = loweredBy(floor, offered)
    },
    beyond: ({ maxFeePerGas }) => beyond(floor, maxFeePerGas, clock.now()),
    hopeless({ maxFeePerGas }) {
      const nowMs = clock.now()
      const keptMs = Math.max(HOPELESS_KEPT_MS, HOPELESS_KEPT_BLOCKS * (endpointPool.tracker.blockMs ?? 0))
      return nowMs - confirmedAtMs <= keptMs ? beyond(floor, maxFeePerGas, nowMs) : undefined
    },
    rule,
    bumpsMax: bump?.attemptsMax ?? BUMPS_MAX,
    baseFee,
    dataFee: endpointPool.dataFees.of,
  }
}
