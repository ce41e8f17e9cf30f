import type { Client } from 'viem'
import { backgroundClock, type Clock, type Random, systemClock, systemRandom } from '../platform/clock.js'
import type { SendOutcome } from '../rpc/outcome.js'
import type { Port } from '../rpc/port.js'
import type { Signatures } from '../rpc/signatures.js'
import { memoryStore } from '../store/memory.js'
import type { Endpoint } from '../types/index.js'
import type { Store } from '../types/store.js'

/** Creates the ports to the node of an endpoint. */
export type PortsOf = (client: Client, endpoint: Omit<Endpoint, 'client'>) => readonly EndpointPort[]

export type EndpointPort = {
  readonly port: Port
  readonly role: 'both' | 'read' | 'send'
  /** Ports with the same URL share a request budget. */
  readonly url?: string | undefined
}

/**
 * Everything that lanes take from outside: time, random numbers, the ports to a node, and the registry of the process. A
 * simulation has its own environment; `processEnvironment` is the real one.
 */
export type Environment = {
  readonly clock: Clock
  /** The clock of work that is not unfinished: its timers keep no process alive. @default `clock` */
  readonly background?: Clock
  readonly random: Random
  /** Recovers the signers of the transactions in a block. @default recovery on the curve */
  readonly signatures?: Signatures
  /** @default the ports of the transport of the client */
  readonly portsOf?: PortsOf
  /**
   * The code that lanes run on. The first call that opens a lane loads it; later calls have it in the same turn. Each folder
   * that uses it names the functions that it takes from it.
   */
  readonly runtime: () => object | Promise<object>
  /** The registry that the lanes of one process share. */
  readonly shared: Shared
  /** Writes a line for the operators of the process. @default does nothing */
  readonly warn?: (line: string) => void
  /** Counts the rows and outcomes of the lanes, for tests and benchmarks. */
  readonly probe?: Probe
}

/** Is called with each row of the table that a lane takes, and with each classified answer to a send. Must not throw. */
export type Probe = {
  row(row: number): void
  outcome(outcome: SendOutcome): void
}

/** Lanes and endpoint pools by key, and the default store. Only one version of the package makes and reads the values. */
export type Shared = {
  readonly lanes: Map<string, unknown>
  readonly endpointPools: Map<string, unknown>
  /** Request budgets, by URL and limits. */
  readonly gates: Map<string, unknown>
  /** Subscriptions to heads, by URL. */
  readonly headSubscriptions: Map<string, unknown>
  /** The profiles that deliveries have learned of endpoints, by URL: the newest ones. */
  readonly deliveries: Map<string, unknown>
  /** A number for each store, transport or client, which have no names. */
  readonly identities: WeakMap<object, number>
  identitiesMade: number
  defaultStore: Store | undefined
  /** One heartbeat for each store: a process holds its lanes under one name. */
  readonly heartbeats: WeakMap<Store, unknown>
  readonly reports: WeakMap<Store, unknown>
}

// The version is part of the symbol: copies of the package share lanes only if they have the same types of lanes.
const SHARED = Symbol.for('txlane.shared.v5')

export function createShared(): Shared {
  return {
    lanes: new Map(),
    endpointPools: new Map(),
    gates: new Map(),
    headSubscriptions: new Map(),
    deliveries: new Map(),
    identities: new WeakMap(),
    identitiesMade: 0,
    defaultStore: undefined,
    heartbeats: new WeakMap(),
    reports: new WeakMap(),
  }
}

/** The registry of this process. Several copies of the package (ESM beside CJS) share one. */
function processShared(): Shared {
  const holder = globalThis as { [SHARED]?: Shared }
  holder[SHARED] ??= createShared()
  return holder[SHARED]
}

/** The environment outside simulations: the clocks and the randomness of the machine, and the registry of the process. */
export function processEnvironment(): Omit<Environment, 'runtime'> {
  return {
    clock: systemClock,
    background: backgroundClock,
    random: systemRandom,
    shared: processShared(),
    warn: (line) => console.warn(line),
  }
}

/** A number that identifies an object within this process. */
export function identityOf(shared: Shared, object: object): number {
  const known = shared.identities.get(object)
  if (known !== undefined) return known
  const identity = ++shared.identitiesMade
  shared.identities.set(object, identity)
  return identity
}

export function defaultStore(shared: Shared): Store {
  shared.defaultStore ??= memoryStore()
  return shared.defaultStore
}
