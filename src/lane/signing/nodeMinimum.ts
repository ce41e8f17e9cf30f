import type { Tracker } from '../../chain/blocks/blockPoller.js'
import type { FeeCeiling, FeeNeeds, Fees } from '../../ledger/fees.js'
import { atFloor, beyond, loweredBy, NO_FLOOR, type PriceFloor, raisedBy } from '../../ledger/priceFloor.js'
import type { Clock } from '../../platform/clock.js'

/** The minimum fees of the node, as its refusals revealed them. */
export type NodeMinimum = {
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

export function createNodeMinimum(
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
