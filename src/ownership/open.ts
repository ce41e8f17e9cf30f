import type { Address, Chain, Client, Hash, LocalAccount, Transport } from 'viem'
import { chainOf } from '../chain/endpoints/chainOf.js'
import { type EndpointPool, openEndpointPool } from '../chain/endpoints/endpointPool.js'
import { defaultStore, type Environment, identityOf } from '../chain/environment.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import type { Random } from '../platform/clock.js'
import { type Held, hold, shared } from '../platform/registry.js'
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
  /** Who works it now. */
  readonly ownership: LaneOwnership
  readonly limits: Limits
  readonly log: LaneLog
  /** Another lane of the chain is open in this process. */
  isOpen(address: Address): boolean
  /** A transaction of this lane that has not ended, from what is known here alone. */
  live(by: string | { hash: Hash }): Tx | undefined
  /** A transaction of any account of the chain and store. */
  find(by: string | { hash: Hash }): Promise<Tx | undefined>
  /** A page of the transactions of these accounts; of the lane's own, where none is named. */
  list(options: ListOptions, accounts?: readonly Address[]): Promise<RecordPage>
  sendSequence(
    requests: readonly TxRequest[],
    options: SequenceOptions,
    random: Random,
  ): Promise<readonly Tx[]>
  /** Lets go of the lane and its hub. The last holder has `stop` called before the hub stops. */
  release(stop: () => Promise<void>): Promise<void>
}

export type OpenOptions = LaneOptions<Chain> & {
  readonly client: Client<Transport, Chain>
  readonly address: Address
  /** Undefined for a lane that only hands out nonces. */
  readonly signer: LocalAccount | undefined
  readonly limits: Limits
  /** The options as the caller gave them: what is left out is the lane's. */
  readonly given: LaneOptions<Chain>
  /** Whoever opens it has closed: no endpoint is asked any longer. */
  readonly isClosing?: (() => boolean) | undefined
  /** What waits to be sent as soon as the lane is open. */
  readonly waiting?: (() => ReadonlyMap<TxRequest, SendOptions>) | undefined
}

/** The lane has its own hold on the hub it was opened with: that outlives whoever opened it. */
type Shared = {
  readonly ownership: LaneOwnership
  readonly endpointPool: Held<EndpointPool>
  readonly options: OpenOptions
  readonly log: LaneLog
}

/** `begun`: given what tells of the lane, before anything of it happens. Not called where somebody has opened it. */
export async function openLane(
  options: OpenOptions,
  environment: Environment,
  begun: (events: LaneSession['events']) => void,
): Promise<OpenLane> {
  const store = options.store ?? defaultStore(environment.shared)
  // Which chain it is, and with it which lane, is known once an endpoint has answered.
  const probed = await holdEndpointPool(options, environment)
  try {
    const chain = await chainOf(probed.value, store)
    const key: LaneKey = { ...chain, address: options.address.toLowerCase() as Address }
    const nameIn = (lane: LaneKey) => `${laneName(lane)}@${identityOf(environment.shared, store)}`
    const beside = (address: Address) =>
      shared<Shared>(environment.shared.lanes, nameIn({ ...key, address }))?.ownership
    const held = await hold(environment.shared.lanes, nameIn(key), () =>
      begin({ options, environment, store, key, beside, begun }),
    )
    const { ownership, endpointPool, log } = held.value
    await checkJoining(held, options)
    const detach = log.attach(options.logger)
    // An allocator may have opened the lane without a key: from now on it can repair.
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
    // Written out: what is spread loses its shape with the last lane, and the code of every `send` with it.
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

/** Lets go of the lane again where these options are not those that it was opened with. */
async function checkJoining({ value, release }: Held<Shared>, options: OpenOptions): Promise<void> {
  try {
    checkShared(value.options, options)
  } catch (error) {
    await release(async () => {
      await value.ownership.close()
      await value.endpointPool.release(() => value.endpointPool.value.stop())
    })
    throw error
  }
}

/** The endpoints of these options, shared with everybody who names the same. */
export function holdEndpointPool(
  options: Pick<OpenOptions, 'client' | 'endpoints' | 'limits' | 'isClosing'>,
  environment: Environment,
): Promise<Held<EndpointPool>> {
  const { client, endpoints = [], limits } = options
  return hold(environment.shared.endpointPools, endpointPoolName(options, environment), () =>
    openEndpointPool({ client, endpoints, limits, environment, isClosing: options.isClosing }),
  )
}

/** Opens the lane on a hub that is its own to hold: whoever asked for it may be gone long before the others. */
async function begin(
  parts: Omit<Parameters<typeof openLaneOwnership>[0], 'endpointPool' | 'log'>,
): Promise<Shared> {
  const endpointPool = await holdEndpointPool(parts.options, parts.environment)
  const log = createLaneLog(parts.environment.warn ?? (() => {}))
  // The opening writes as well; those who have the lane then are attached by then.
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

/** How a hub asks its endpoints: with other limits it is another one. */
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

/** Senders with the same endpoints and limits share a hub, and with it the one poller. */
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
