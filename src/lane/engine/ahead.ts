import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Environment } from '../../chain/environment.js'
import { type Clock, stoppableClock } from '../../platform/clock.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits, SendOptions, TxRequest } from '../../types/index.js'
import { createGasEstimator, type GasEstimator } from '../gas/gas.js'
import type { LaneSession } from '../session/laneSession.js'
import { createFeeOracle, type FeeOracle } from '../signing/feeOracle.js'

/** What the first transactions of a lane need beside the account, so that it can be asked for while that is read. */
export type Ahead = {
  /** For all that a lane does until it ends. */
  readonly clock: Clock & { stop(): void }
  readonly fees: FeeOracle
  readonly estimator: GasEstimator
  /** Asks for the price, and for the gas of what waits for the lane. */
  ask(): void
}

/** As many as fit in one request: the others are asked about with all that comes later. */
const ESTIMATES_MAX = 50

export function createAhead(parts: {
  readonly options: {
    readonly limits: Limits
    /** The requests that wait to be sent as soon as the lane is open. */
    readonly waiting?: (() => ReadonlyMap<TxRequest, SendOptions>) | undefined
  }
  readonly environment: Environment
  readonly endpointPool: EndpointPool
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

  /** What depends on something else, or is not to be shown, is asked about in its turn. */
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
      // Who needs it asks again where there is no answer.
      void fees.market().catch(() => {})
      for (const [request] of estimates()) estimator.ahead(request, address)
    },
  }
}
