import type { Hex } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { Limits, TxRequest } from '../../types/index.js'
import type { GasEstimator } from '../gas/gas.js'
import { block } from './block.js'
import type { Ceilings } from './ceilings.js'
import type { FeeOracle } from './feeOracle.js'
import type { JobOf, SignOrder } from './job.js'
import type { Offers } from './offers.js'

export type NoopOrdersContext = {
  readonly lane: Lane
  readonly fees: Pick<FeeOracle, 'market' | 'baseFee'>
  readonly limits: Pick<Limits, 'fillsMax'>
  blockedAt: number
}

/** Prices no-ops, for a bounded number of nonces at a time. */
export type NoopOrders = {
  /** Resolves to undefined if there is nothing to sign any more, or the no-op is too expensive. */
  order(job: JobOf<'noop'>): Promise<SignOrder | undefined>
  /** A job that was ordered is over. */
  over(): void
  /** The account's code has changed: the gas of a self-transfer is estimated again. */
  codeChanged(): void
}

// A self-transfer costs 21,000 gas (yellow paper, G_transaction), and more if the account has code. So it is
// estimated; this is the fallback.
const GAS_FALLBACK = 100_000n

export function createNoopOrders(
  context: NoopOrdersContext,
  ceilings: Pick<Ceilings, 'noop'>,
  offers: Pick<Offers, 'above'>,
  estimator: Pick<GasEstimator, 'estimate'>,
): NoopOrders {
  const { lane, fees, limits } = context
  const waiting: (() => void)[] = []
  let openCount = 0
  let gas: Promise<bigint> | undefined

  /** Estimated once: the gas of a self-transfer depends on the account's code, which changes rarely. */
  function estimateGas(): Promise<bigint> {
    gas ??= askGas().catch(() => {
      gas = undefined
      return GAS_FALLBACK
    })
    return gas
  }

  async function askGas(): Promise<bigint> {
    const { address } = lane.key
    const estimate = await estimator.estimate(noopRequest(address), address)
    if (estimate.kind !== 'gas') throw estimate.cause
    return estimate.gas
  }

  /**
   * Waits for one of the `fillsMax` places: a broken lane must not empty the account on no-ops before an
   * operator looks (P9).
   */
  async function enter(): Promise<void> {
    if (openCount < limits.fillsMax) openCount++
    else await new Promise<void>((resolve) => waiting.push(resolve))
  }

  return {
    async order({ nonce }) {
      await enter()
      const slot = lane.book.get(nonce)
      if (slot?.state !== 'live') return undefined
      const ceiling = ceilings.noop(slot)
      const market = await fees.market(ceiling)
      const offer = offers.above(slot, { market, ceiling, baseFee: fees.baseFee() })
      if (offer === undefined) return void block(context, nonce)
      const content = { request: noopRequest(lane.key.address), gas: await estimateGas() }
      return { claim: undefined, content, offer }
    },
    over() {
      // Passes the place on, or frees it.
      const next = waiting.shift()
      if (next) next()
      else openCount--
    },
    codeChanged() {
      gas = undefined
    },
  }
}

export function noopRequest(address: Hex): TxRequest {
  return { to: address, value: 0n } as TxRequest
}
