import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { HealthCause, HealthReason, HoldReason, Limits } from '../../types/index.js'
import type { WaitReason } from '../../types/wait.js'
import { reasonOf } from '../reasons/sentence.js'
import type { LaneSession } from '../session/laneSession.js'
import { storedReason } from '../transaction/waitingFor.js'
import type { LaneContext } from './core.js'
import { countInFlight, isInFlightByStage } from './snapshot.js'

/** A reason without the account, which the holder of the sender knows. */
export type LaneReason = HealthCause & Omit<HealthReason, 'address' | keyof HealthCause>

/** The part of the health of a sender that its lane knows. */
export type LaneHealth = {
  readonly inFlight: number
  readonly queued: number
  readonly reasons: readonly LaneReason[]
}

/** The health from the books of the process that owns the lane. */
export function healthOfLeader(context: LaneContext, queued: number): LaneHealth {
  const { lane, endpointPool, limits, session } = context
  return {
    inFlight: countInFlight(lane.book),
    queued,
    reasons: [
      ...lane.holds.standing().map(({ reason, detail, sinceMs }) => holdReason(reason, detail, sinceMs)),
      ...storeReasons(session),
      ...endpointReasons(endpointPool, true),
      ...queueReasons(queued, limits),
    ],
  }
}

/** The health for a standby, from the records that the owner keeps of the transactions known to this process. */
export function healthOfStandby(parts: {
  readonly session: LaneSession
  readonly endpointPool: Pick<EndpointPool, 'endpoints'>
  readonly limits: Pick<Limits, 'queueMax'>
  /** The reasons that the process itself adds. */
  readonly more: readonly LaneReason[]
}): LaneHealth {
  const { session, endpointPool, limits, more } = parts
  const own = [...session.transactions.values()]
  const queued = own.filter(({ stage }) => stage === 'queued').length
  return {
    inFlight: own.filter(isInFlightByStage).length,
    queued,
    reasons: [
      ...storedHolds(own.map(storedReason)),
      ...storeReasons(session),
      // The owner of the lane has its own endpoints.
      ...endpointReasons(endpointPool, false),
      ...queueReasons(own.length, limits),
      ...more,
    ],
  }
}

function holdReason(hold: HoldReason, detail: string | undefined, sinceMs: number): LaneReason {
  const details = detail === undefined ? undefined : { [hold]: detail }
  const { sentence, operator } = reasonOf({ for: 'hold', holds: [hold], details }, sinceMs)
  return { for: 'hold', hold, sinceMs, sentence, operator, ...stoppedBy(hold) }
}

/** A transaction that travels alone is no trouble, and a restart finds a replaced store file again. */
function stoppedBy(hold: HoldReason): Pick<HealthReason, 'stops'> {
  if (hold === 'authorizing') return {}
  return { stops: hold === 'storeReplaced' ? 'live' : 'ready' }
}

function storedHolds(reasons: readonly (WaitReason | undefined)[]): LaneReason[] {
  const found = new Map<HoldReason, LaneReason>()
  for (const reason of reasons) {
    if (reason?.for !== 'hold') continue
    for (const hold of reason.holds)
      if (!found.has(hold)) found.set(hold, holdReason(hold, reason.details?.[hold], reason.sinceMs))
  }
  return [...found.values()]
}

function storeReasons({ storeTrouble: { current } }: LaneSession): LaneReason[] {
  if (current === undefined) return []
  const { said, sinceMs, isReplaced } = current
  const sentence = `The store does not read or write; it said: "${said}".`
  return [
    { for: 'store', said, sinceMs, sentence, operator: isReplaced, stops: isReplaced ? 'live' : 'ready' },
  ]
}

function endpointReasons({ endpoints }: Pick<EndpointPool, 'endpoints'>, isNeeded: boolean): LaneReason[] {
  const works = ({ probed, trouble }: PoolEndpoint) => probed && trouble === undefined
  const isRead = endpoints.some((one) => one.role !== 'send' && works(one))
  const isSentTo = endpoints.some((one) => one.role !== 'read' && works(one))
  return endpoints
    .filter((endpoint) => !works(endpoint))
    .map(({ port, role, trouble }) => {
      const stops = isNeeded && ((role !== 'send' && !isRead) || (role !== 'read' && !isSentTo))
      return {
        for: 'endpoint',
        endpoint: port.name,
        role,
        said: trouble?.said,
        ...(trouble === undefined ? {} : { sinceMs: trouble.sinceMs }),
        sentence:
          trouble === undefined
            ? `The endpoint ${port.name} has not shown that it is on this chain.`
            : `The endpoint ${port.name} answers nothing of use; it said: "${trouble.said}".`,
        operator: false,
        ...(stops ? { stops: 'ready' } : {}),
      }
    })
}

function queueReasons(queued: number, { queueMax }: Pick<Limits, 'queueMax'>): LaneReason[] {
  if (queued < queueMax) return []
  const sentence = `${queued} transactions wait, and limits.queueMax is ${queueMax}.`
  return [{ for: 'queue', queued, sentence, operator: false, stops: 'ready' }]
}
