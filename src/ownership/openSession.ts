import { type Address, getAddress } from 'viem'
import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { Environment } from '../chain/environment.js'
import { safeError } from '../errors/redactError.js'
import { createAdmission } from '../lane/admission/admission.js'
import { createAuthorities } from '../lane/admission/authorities.js'
import { createEmitter } from '../lane/emitter.js'
import { createLaneSession, type LaneSession } from '../lane/session/laneSession.js'
import type { LaneKey, Store } from '../types/store.js'
import { createHandedOffTransactions } from './handedOffTransactions.js'
import { heartbeatOf } from './heartbeat.js'
import type { LaneLog } from './laneLog.js'
import type { LaneOwnership } from './laneOwnership.js'
import type { OpenOptions } from './open.js'
import { reportsOf } from './reports.js'

export type LaneOwnershipParts = {
  readonly options: OpenOptions
  readonly environment: Environment
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly key: LaneKey
  readonly log: LaneLog
  /** Another lane of the chain, if it is open in this process. */
  readonly beside: (address: Address) => LaneOwnership | undefined
  readonly begun: (events: LaneSession['events']) => void
}

export type OpenSession = ReturnType<typeof openSession>

/** The parts of a lane that outlive a change of its owner. */
export function openSession(parts: LaneOwnershipParts) {
  const { options, environment, endpointPool, store, key, log, beside } = parts
  const { clock, random, background = clock } = environment
  const { limits } = options
  const lane = { chainId: key.chainId, address: getAddress(key.address) }
  const events = createEmitter(lane, (error) =>
    log.logger.error({ error: safeError(error) }, 'a listener threw'),
  )
  parts.begun(events)
  const session = createLaneSession({
    key,
    events,
    endpointPool,
    clock,
    fees: options.fees,
    background,
    limits,
    beside: (address) => beside(address)?.session,
  })
  const handedOff = createHandedOffTransactions({ session, store, clock })
  session.handedOff = handedOff
  const { transactions } = session
  const { lanes } = environment.shared
  const timeoutMs = limits.readTimeoutMs
  const authorities = createAuthorities({ endpointPool, key, transactions, lanes, timeoutMs })
  const isOpen = (address: Address) => beside(address) !== undefined
  const admission = createAdmission({ session, endpointPool, store, random, clock, authorities, isOpen })
  const heartbeat = heartbeatOf(environment, store)
  return { lane, session, handedOff, admission, heartbeat, reports: reportsOf(environment, store) }
}

