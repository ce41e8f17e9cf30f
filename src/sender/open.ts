import type { Address, Chain, Client, LocalAccount, Transport } from 'viem'
import { readLower, seedBook, settleColdStart } from '../allocator/seed.js'
import { TxlaneError } from '../errors/base.js'
import { decodeQuantity } from '../rpc/codec.js'
import { type LaneReading, readLane } from '../rpc/reads/readLane.js'
import { type LaneKey, type Lease, laneName, type Store } from '../store/store.js'
import type { LaneOptions, Limits } from '../types.js'
import { createEmitter } from './emitter.js'
import { createEngine } from './engine.js'
import type { Engine } from './engineTypes.js'
import { defaultStore, type Environment, heartbeatOf, identityOf } from './environment.js'
import { createHandle } from './handle.js'
import { type Hub, openHub } from './hub.js'
import { type Held, hold } from './registry.js'
import { restoreTransactions } from './restore.js'

/** A lane in this process, shared by every sender and allocator of the same account, chain and store. */
export type OpenLane = {
  readonly engine: Engine
  readonly hub: Hub
  readonly store: Store
  readonly key: LaneKey
  /** What the account was when the lane was last read. */
  reading: LaneReading
  /** Lets go of the lane and its hub. The last holder has `stop` called before the hub stops. */
  release(stop: () => Promise<void>): Promise<void>
}

export type OpenOptions = LaneOptions<Chain> & {
  readonly client: Client<Transport, Chain>
  readonly address: Address
  /** Undefined for a lane that only hands out nonces. */
  readonly signer: LocalAccount | undefined
  readonly limits: Limits
}

/** The lane has its own hold on the hub it was opened with: that outlives whoever opened it. */
type Shared = {
  readonly engine: Engine
  readonly hub: Held<Hub>
  /** The lease is not renewed any more. */
  readonly letGo: () => void
  reading: LaneReading
}

export async function openLane(options: OpenOptions, environment: Environment): Promise<OpenLane> {
  const store = options.store ?? defaultStore(environment.shared)
  // Which chain it is, and with it which lane, is known once an endpoint has answered.
  const probed = await holdHub(options, environment)
  try {
    const { chainId, genesisHash } = probed.value
    const key: LaneKey = { chainId, genesisHash, address: options.address.toLowerCase() as Address }
    const name = `${laneName(key)}@${identityOf(environment.shared, store)}`
    const held = await hold(environment.shared.lanes, name, () => begin(options, environment, store, key))
    return opened(held, store, key, options.signer)
  } finally {
    await probed.release(() => probed.value.stop())
  }
}

/** The endpoints of these options, shared with everybody who names the same. */
export function holdHub(
  options: Pick<OpenOptions, 'client' | 'endpoints' | 'limits'>,
  environment: Environment,
): Promise<Held<Hub>> {
  const { client, endpoints = [], limits } = options
  return hold(environment.shared.hubs, hubName(options, environment), () =>
    openHub({ client, endpoints, limits, environment }),
  )
}

function opened(held: Held<Shared>, store: Store, key: LaneKey, signer: LocalAccount | undefined): OpenLane {
  const { engine, hub, letGo } = held.value
  // An allocator may have opened the lane without a key: from now on it can repair.
  if (signer !== undefined && engine.context.signer === undefined) {
    engine.context.signer = signer
    engine.kick()
  }
  return {
    engine,
    hub: hub.value,
    store,
    key,
    get reading() {
      return held.value.reading
    },
    set reading(reading) {
      held.value.reading = reading
    },
    release: (stop) =>
      held.release(async () => {
        await stop()
        letGo()
        await hub.release(() => hub.value.stop())
      }),
  }
}

/** Opens the lane on a hub that is its own to hold: whoever asked for it may be gone long before the others. */
async function begin(
  options: OpenOptions,
  environment: Environment,
  store: Store,
  key: LaneKey,
): Promise<Shared> {
  const held = await holdHub(options, environment)
  try {
    const heartbeat = heartbeatOf(environment, store)
    const lease = await store.acquire(key, heartbeat.holder, heartbeat.ttlMs)
    if (lease === undefined) throw heldError()
    // From the first moment: to read what it left may take longer than a lease lasts.
    const lost = createSignal()
    const letGo = heartbeat.hold(lease, lost.set)
    try {
      const begun = await beginLeased(options, environment, held.value, store, lease)
      lost.listen(() => begun.engine.leaseLost())
      return { ...begun, hub: held, letGo }
    } catch (error) {
      letGo()
      await store.release(lease).catch(() => {})
      throw error
    }
  } catch (error) {
    await held.release(() => held.value.stop())
    throw error
  }
}

/** Records, chain, book, engine: in this order, so that nothing is handed out before all of it is known. */
async function beginLeased(
  options: OpenOptions,
  environment: Environment,
  hub: Hub,
  store: Store,
  lease: Lease,
): Promise<Pick<Shared, 'engine' | 'reading'>> {
  const { limits } = options
  const key = lease.lane
  const state = await store.load(lease)
  const readOnce = () => readLane(hub.reader.port, { address: key.address, timeoutMs: limits.readTimeoutMs })
  const read = () => readLower(readOnce)
  const settle = state.cursor === undefined && options.coldStart !== 'immediate'
  const reading = settle
    ? await settleColdStart({
        read,
        clock: environment.clock,
        blockMs: () => hub.tracker.blockMs ?? 2_000,
        stopped: () => false,
      })
    : await read()
  const { book, tokenAbove, storeBehindChain } = seedBook(reading, state, store.durable)
  const restored = await restoreTransactions(state.transactions, book, (id) => store.find(key, { id }))
  const balanceWei = await readBalance(hub, key.address, limits.readTimeoutMs)
  // From here on there is something that works by itself: what fails after it has to stop it.
  const { logger } = options
  const events = createEmitter((error) => logger?.error?.({ error }, 'a listener threw'))
  const engine = createEngine({
    environment,
    handle: createHandle(events),
    hub,
    store,
    key,
    lease,
    book,
    tokenAbove,
    arrived: state.arrived,
    limits,
    logger: options.logger,
    signer: options.signer,
    fees: options.fees,
    lossDepth: options.lossDepth ?? defaultLossDepth(options.client.chain),
    starved: options.starved ?? 'wait',
    simulate: options.simulate ?? false,
    gasMultiplier: options.gasMultiplier ?? 1,
  })
  engine.accountIs(reading.account)
  if (storeBehindChain) engine.context.lane.holds.add('storeBehindChain')
  engine.restore(restored)
  if (balanceWei !== undefined) engine.setBalance(balanceWei)
  engine.start()
  try {
    await hub.tracker.nextTick()
  } catch (error) {
    engine.stop()
    throw error
  }
  return { engine, reading }
}

/** Without an answer the lane begins without a budget: the node's own refusals bring one. */
async function readBalance(hub: Hub, address: Address, timeoutMs: number): Promise<bigint | undefined> {
  const call = { method: 'eth_getBalance', params: [address, 'latest'] }
  const [reply] = await hub.reader.port.batch([call], { timeoutMs })
  return reply?.ok ? decodeQuantity(reply.result, call.method) : undefined
}

/**
 * One block of a single sequencer is as good as settled. viem's OP-stack definitions are known by their fee oracle;
 * other chains say it themselves, as `custom: { singleSequencer: true }` in their definition.
 */
function defaultLossDepth(chain: Chain): 'child' | 'safe' {
  const declared = chain.custom?.singleSequencer === true
  return declared || chain.contracts?.gasPriceOracle !== undefined ? 'child' : 'safe'
}

/** Senders with the same endpoints share a hub, and with it the one poller. */
function hubName(options: Parameters<typeof holdHub>[0], environment: Environment): string {
  const clients = [options.client, ...(options.endpoints ?? []).map((endpoint) => endpoint.client)]
  const names = clients.map((client) => {
    const { url, type, key } = client.transport as { url?: unknown; type?: string; key?: string }
    const plain = typeof url === 'string' && type === 'http'
    return plain ? url : `${key}#${identityOf(environment.shared, client.transport)}`
  })
  const roles = (options.endpoints ?? []).map((endpoint) => endpoint.role ?? 'both')
  return [options.client.chain.id, ...names, ...roles].join('|')
}

/** Something that happens once, perhaps before anybody listens. */
function createSignal() {
  let happened = false
  let listener: (() => void) | undefined
  return {
    set() {
      happened = true
      listener?.()
    },
    listen(heard: () => void) {
      listener = heard
      if (happened) heard()
    },
  }
}

function heldError(): TxlaneError {
  return new TxlaneError('The lane has another holder.', { code: 'LEASE_LOST', fate: 'notExecuted' })
}
