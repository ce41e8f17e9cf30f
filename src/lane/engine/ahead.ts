import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Environment } from '../../chain/environment.js'
import { type Clock, stoppableClock } from '../../platform/clock.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits, SendOptions, TxRequest } from '../../types/index.js'
import { createGasEstimator, type GasEstimator } from '../gas/gas.js'
import type { LaneSession } from '../session/laneSession.js'
import { createFeeOracle, type FeeOracle } from '../signing/feeOracle.js'

/**
 * The values besides the account state that the first transactions of a lane need. They are requested while
 * the account is being read.
 */
export type Ahead = {
  /** The clock for all work of the lane until it ends. */
  readonly clock: Clock & { stop(): void }
  readonly fees: FeeOracle
  readonly estimator: GasEstimator
  /** Requests the price, and the gas estimates of the transactions that wait for the lane. */
  ask(): void
}

/**
 * Maximum number of estimates that fit in one request. The other transactions are estimated later, together
 * with new ones.
 */
const ESTIMATES_MAX = 50

export function createAhead(parts: {
  readonly options: {
    readonly limits: Limits
    /** The requests that are sent as soon as the lane is open. */
    readonly waiting?: (() => ReadonlyMap<TxRequest, SendOptions>) | undefined
  }
  readonly environment: Environment
  readonly endpointPool: Pick<
    EndpointPool,
    'chain' | 'client' | 'dataFees' | 'endpoints' | 'feeHistory' | 'others' | 'reader' | 'tracker'
  >
  readonly session: LaneSession
}): Ahead {
  const { options, environment, endpointPool, session } = parts
  const { limits, waiting } = options
  const { address } = session.key
  const clock = stoppableClock(environment.clock)
  const failed = (error: unknown) => reportError(session, error)
  const fees = createFeeOracle({ endpointPool, settings: session.settings, limits, clock, failed })
  const estimator = createGasEstimator({
    endpointPool,
    clock,
    batchMax: limits.batchMax,
    timeoutMs: limits.readTimeoutMs,
  })

  /** Requests with a dependency, and private requests, are estimated later. */
  function estimates() {
    return [...(waiting?.() ?? [])]
      .filter(
        ([request, { after, private: isPrivate }]) =>
          !isPrivate && after === undefined && request.gas === undefined,
      )
      .slice(0, ESTIMATES_MAX)
  }

  return {
    clock,
    fees,
    estimator,
    ask() {
      if ((waiting?.().size ?? 0) === 0) return
      // Without an answer, the code that needs the price requests it again.
      void fees.market().catch(() => {})
      for (const [request] of estimates()) estimator.ahead(request, address)
    },
  }
}
