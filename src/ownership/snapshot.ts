import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { Engine } from '../lane/engine/engineTypes.js'
import type { LaneSnapshot } from '../types/index.js'
import { countInFlight } from './inFlight.js'

/** The state of the lane now, from its own books, without a request to a node. */
export function snapshotOf(engine: Engine): LaneSnapshot {
  const { endpointPool, closed } = engine.context
  const { book, holds, key } = engine.context.lane
  const head = endpointPool.tracker.head
  const holes: number[] = []
  for (const { nonce, state } of book.slots.values())
    if (state === 'hole' && nonce < book.cursor && nonce >= book.floor) holes.push(nonce)
  return {
    holder: !closed,
    chainId: key.chainId,
    address: key.address,
    floor: book.floor,
    cursor: book.cursor,
    coveredTo: book.coveredTo,
    window: engine.broadcaster.window,
    holes: holes.sort((a, b) => a - b),
    queued: engine.waiting,
    inFlight: countInFlight(book),
    holds: holds.list(),
    holdDetails: holds.details(),
    head: head && { number: head.number, hash: head.hash },
    balanceWei: engine.balanceWei,
    ...(engine.feeBudget === undefined ? {} : { feeBudget: engine.feeBudget }),
    account: engine.account,
    endpoints: endpointsOf(endpointPool),
    waiting: engine.reasons.summary(),
  }
}

export function endpointsOf(endpointPool: Pick<EndpointPool, 'endpoints'>): LaneSnapshot['endpoints'] {
  return endpointPool.endpoints.map((endpoint) => {
    const { port, role, profile, trouble, gate } = endpoint
    const { restReason: rests } = gate
    const { requestsPerSecond, callsPerSecond, waiting, denied } = gate.status()
    const isLimited = requestsPerSecond !== undefined || callsPerSecond !== undefined || denied > 0
    return {
      name: port.name,
      role,
      profile: profile.current(),
      requests: port.stats.requests,
      calls: port.stats.calls,
      ...(rests === undefined ? {} : { rests }),
      ...(isLimited ? { budget: { requestsPerSecond, callsPerSecond, waiting, denied } } : {}),
      ...(trouble === undefined ? {} : { failing: trouble }),
    }
  })
}
