import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import { keptReason, summaryOf } from '../lane/transaction/waitingFor.js'
import type { LaneReading } from '../rpc/methods/readLane.js'
import type { HoldReason, LaneSnapshot } from '../types/index.js'
import { isInFlightByStage } from './inFlight.js'
import { endpointsOf } from './snapshot.js'

/** The state of the account on the chain. */
export type Shown = Pick<LaneSnapshot, 'floor' | 'cursor' | 'head' | 'account'>

export function shownBy({ latest, pending, account }: LaneReading): Shown {
  const { hash, number } = latest.header
  const head = hash === null ? undefined : { number, hash }
  return { floor: latest.count, cursor: Math.max(latest.count, pending?.count ?? 0), head, account }
}

/** The snapshot of a standby: counts from the chain, because only the owner has the books. */
export function standbySnapshot(
  session: LaneSession,
  endpointPool: Pick<EndpointPool, 'endpoints' | 'tracker'>,
  effects: Shown,
  holds: readonly HoldReason[],
): LaneSnapshot {
  const own = [...session.transactions.values()]
  return {
    holder: false,
    chainId: session.key.chainId,
    address: session.key.address,
    floor: effects.floor,
    cursor: effects.cursor,
    coveredTo: effects.cursor,
    window: 0,
    holes: [],
    queued: own.filter(({ stage }) => stage === 'queued').length,
    inFlight: own.filter(isInFlightByStage).length,
    holds: [...holds],
    head: effects.head,
    balanceWei: undefined,
    account: effects.account,
    endpoints: endpointsOf(endpointPool),
    waiting: summaryOf(own.map((one) => [one, keptReason(one)])),
  }
}
