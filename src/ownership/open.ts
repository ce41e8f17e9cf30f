import type { Address, Chain, Client, Hash, LocalAccount, Transport } from 'viem'
import { chainOf } from '../chain/endpoints/chainOf.js'
import { type EndpointPool, openEndpointPool } from '../chain/endpoints/endpointPool.js'
import { defaultStore, type Environment, identityOf } from '../chain/environment.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import type { Random } from '../platform/clock.js'
import { raceAbort } from '../platform/onAbort.js'
import { closedWhileOpening, type Held, hold, shared } from '../platform/registry.js'
import type {
  LaneOptions,
  Limits,
  ListOptions,
  RecordPage,
  SendOptions,
  SequenceOptions,
  Tx,
  TxRequest,
} from '../types/index.js'
import { type LaneKey, laneName, type Store } from '../types/store.js'
import { createLaneLog, type LaneLog } from './laneLog.js'
import { type LaneOwnership, openLaneOwnership } from './laneOwnership.js'
import { findTransaction, listTransactions, liveTransaction } from './lookup.js'
import { sendSequence } from './sendSequence.js'
import { checkShared } from './sharedOptions.js'

/** A lane in this process, shared by every sender and allocator of the same account, chain and store. */
export type OpenLane = {
  readonly session: LaneSession
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly key: LaneKey
  /** The owner or standby of the lane in this process. */
  readonly ownership: LaneOwnership
  readonly limits: Limits
  readonly log: LaneLog
  /** Another lane of the chain is open in this process. */
  isOpen(address: Address): boolean
  /** A transaction of this lane that has not ended, as this process knows it. */
  live(by: string | { hash: Hash }): Tx | undefined
  /** Finds a transaction of any account of the chain and store. */
  find(by: string | { hash: Hash }): Promise<Tx | undefined>
  /** A page of the transactions of these accounts; of the account of the lane if none is named. */
  list(options: ListOptions, accounts?: readonly Address[]): Promise<RecordPage>
  sendSequence(
    requests: readonly TxRequest[],
    options: SequenceOptions,
    random: Random,
  ): Promise<readonly Tx[]>
  /** Releases the lane and its endpoint pool. For the last holder it calls `stop` before the pool stops. */
  release(stop: () => Promise<void>): Promise<void>
}

export type OpenOptions = LaneOptions<Chain> & {
  readonly client: Client<Transport, Chain>
  readonly address: Address
  /** Undefined for a lane that only hands out nonces. */
  readonly signer: LocalAccount | undefined
  readonly limits: Limits
  /** The options as the caller gave them. The lane decides the options that are left out. */
  readonly given: LaneOptions<Chain>
  /** Aborted once the opener has closed: no endpoint is asked any longer. */
  readonly closing?: AbortSignal | undefined
  /** The requests that wait until the lane is open. */
  readonly waiting?: (() => ReadonlyMap<TxRequest, SendOptions>) | undefined
}

/** The lane has its own reference to its endpoint pool, which outlives the opener. */
type Shared = {
  readonly ownership: LaneOwnership
  readonly endpointPool: Held<EndpointPool>
  readonly options: OpenOptions
  readonly log: LaneLog
}

/** `begun` gets the events of the lane before the first of them. It is not called if the lane is open already. */
export async function openLane(
  options: OpenOptions,
  environment: Environment,
  begun: (events: LaneSession['events']) => void,
): Promise<OpenLane> {
  const store = options.store ?? defaultStore(environment.shared)
  const { closing } = options
  if (closing?.aborted) throw closedWhileOpening()
  // The lane key contains the genesis hash, so one endpoint has to answer before the lane can be looked up.
  const probed = await holdEndpointPool(options, environment)
  try {
    const chain = await chainOf(probed.value, store)
    const key: LaneKey = { ...chain, address: options.address.toLowerCase() as Address }
    const nameIn = (lane: LaneKey) => `${laneName(lane)}@${identityOf(environment.shared, store)}`
    const beside = (address: Address) =>
      shared<Shared>(environment.shared.lanes, nameIn({ ...key, address }))?.ownership
    const held = await hold(
      environment.shared.lanes,
      nameIn(key),
      () => begin({ options, environment, store, key, beside, begun }),
      closing,
    )
    const { ownership, endpointPool, log } = held.value
    await joined(held, options, environment)
    const detach = log.attach(options.logger)
    // An allocator may have opened the lane without a signer. From now on the lane can repair gaps.
    if (options.signer !== undefined) ownership.signWith(options.signer)
    const { limits } = options
    const lane = {
      session: ownership.session,
      endpointPool: endpointPool.value,
      store,
      key,
      ownership,
      beside,
    }
    // Fields are listed, not spread, so that all lanes share one hidden class (see slotWith.ts).
    return {
      session: lane.session,
      endpointPool: lane.endpointPool,
      store,
      key,
      ownership,
      limits,
      log,
      isOpen: (address) => beside(address) !== undefined,
      live: (by) => liveTransaction(lane, by),
      find: (by) => findTransaction(lane, by),
      list: (listOptions, accounts) => listTransactions(lane, listOptions, accounts),
      sendSequence: (...sequence) => sendSequence(lane, ...sequence),
      release: (stop) =>
        held
          .release(async () => {
            await stop()
            await endpointPool.release(() => endpointPool.value.stop())
          })
          .finally(detach),
    }
  } finally {
    await probed.release(() => probed.value.stop())
  }
}

/**
 * Resolves once the lane has looked at the chain, or `limits.readyTimeoutMs` later: its account was read, and `health()` names an
 * endpoint that shows no block. Releases the lane again if the options differ from those that it was opened with, or if the
 * opener closes meanwhile.
 */
async function joined(
  { value, release }: Held<Shared>,
  options: OpenOptions,
  { clock }: Environment,
): Promise<void> {
  const { closing, limits } = options
  let cancel = () => {}
  const late = new Promise<void>((resolve) => {
    cancel = clock.setTimer(resolve, limits.readyTimeoutMs)
  })
  try {
    checkShared(value.options, options)
    await raceAbort(Promise.race([value.ownership.looked, late]), [closing], closedWhileOpening)
  } catch (error) {
    await release(async () => {
      await value.ownership.close()
      await value.endpointPool.release(() => value.endpointPool.value.stop())
    })
    throw error
  } finally {
    cancel()
  }
}

/** The endpoint pool of these options, which all users of the same endpoints share. */
export function holdEndpointPool(
  options: Pick<OpenOptions, 'client' | 'endpoints' | 'limits' | 'closing'>,
  environment: Environment,
): Promise<Held<EndpointPool>> {
  const { client, endpoints = [], limits, closing } = options
  return hold(
    environment.shared.endpointPools,
    endpointPoolName(options, environment),
    () => openEndpointPool({ client, endpoints, limits, environment, closing }),
    closing,
  )
}

/** Opens the lane with its own reference to the endpoint pool, because the opener may close while other users keep the lane. */
async function begin(
  parts: Omit<Parameters<typeof openLaneOwnership>[0], 'endpointPool' | 'log'>,
): Promise<Shared> {
  const endpointPool = await holdEndpointPool(parts.options, parts.environment)
  const log = createLaneLog(parts.environment.warn ?? (() => {}))
  // The opening writes to the log too, before any user of the lane has attached a logger.
  const detach = log.attach(parts.options.logger)
  try {
    return {
      ownership: await openLaneOwnership({ ...parts, endpointPool: endpointPool.value, log }),
      endpointPool: endpointPool,
      options: parts.options,
      log,
    }
  } catch (error) {
    await endpointPool.release(() => endpointPool.value.stop())
    throw error
  } finally {
    detach()
  }
}

/** The limits that are part of the name of an endpoint pool: they decide how it asks its endpoints. */
const ENDPOINT_POOL_LIMITS = [
  'batchMax',
  'readTimeoutMs',
  'pollIntervalMs',
  'reorgHorizon',
  'restMsMax',
  'requestsPerSecond',
  'callsPerSecond',
  'responseBytesMax',
] as const satisfies readonly (keyof Limits)[]

/** Senders with the same endpoints and limits share an endpoint pool, and with it one poller. */
function endpointPoolName(options: Parameters<typeof holdEndpointPool>[0], environment: Environment): string {
  const clients = [options.client, ...(options.endpoints ?? []).map((endpoint) => endpoint.client)]
  const names = clients.map((client) => {
    const { url, type, key } = client.transport as { url?: unknown; type?: string; key?: string }
    const plain = typeof url === 'string' && type === 'http'
    return plain ? url : `${key}#${identityOf(environment.shared, client.transport)}`
  })
  const { shared } = environment
  const rest = (options.endpoints ?? []).map(({ role = 'both', profile, fetchFn }) =>
    [role, JSON.stringify(profile ?? {}), fetchFn === undefined ? '' : identityOf(shared, fetchFn)].join(' '),
  )
  const limits = ENDPOINT_POOL_LIMITS.map((name) => options.limits[name])
  return [options.client.chain.id, ...names, ...rest, ...limits].join('|')
}
