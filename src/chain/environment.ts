import type { Client } from 'viem'
import { backgroundClock, type Clock, type Random, systemClock, systemRandom } from '../platform/clock.js'
import type { SendOutcome } from '../rpc/outcome.js'
import type { Port } from '../rpc/port.js'
import type { Signatures } from '../rpc/signatures.js'
import { memoryStore } from '../store/memory.js'
import type { Endpoint } from '../types/index.js'
import type { Store } from '../types/store.js'

/** The ways to the node of an endpoint. */
export type PortsOf = (client: Client, endpoint: Omit<Endpoint, 'client'>) => readonly EndpointPort[]

export type EndpointPort = {
  readonly port: Port
  readonly role: 'both' | 'read' | 'send'
  /** Ports with the same one share a request budget. */
  readonly url?: string | undefined
}

/**
 * Everything the sender takes from outside: time, chance, the way to a node, and what the process shares. The real
 * one below; a simulation brings its own.
 */
export type Environment = {
  readonly clock: Clock
  /** For what stands for no unfinished work: its timers keep no process alive. @default `clock` */
  readonly background?: Clock
  readonly random: Random
  /** Reads who signed what stands in a block. @default recovered from the curve */
  readonly signatures?: Signatures
  /** @default what the client's transport is made of */
  readonly portsOf?: PortsOf
  /**
   * The code that lanes run on. The first call that opens a lane loads it; later calls have it in the same turn. Each folder
   * that uses it names the functions that it takes from it.
   */
  readonly runtime: () => object | Promise<object>
  /** What lanes of one process share. Isolated where a store is given. */
  readonly shared: Shared
  /** A line for the people who run the process. @default nothing */
  readonly warn?: (line: string) => void
  /** Counts what the lanes do: absent in a process that nobody measures. */
  readonly probe?: Probe
}

/** Sees each row of the table that is taken, and each answer to a send as it was read. Must not throw. */
export type Probe = {
  row(row: number): void
  outcome(outcome: SendOutcome): void
}

/** Lanes and hubs by key, and the store of who names none. Values are made and read by the same version only. */
export type Shared = {
  readonly lanes: Map<string, unknown>
  readonly endpointPools: Map<string, unknown>
  /** Request budgets, by URL and limits. */
  readonly gates: Map<string, unknown>
  /** What deliveries have shown of an endpoint, by URL: the newest ones. */
  readonly deliveries: Map<string, unknown>
  /** The books of counters in contracts that nobody holds now, and of which something is still out. */
  readonly counters: Map<string, unknown>
  /** A number for each store, transport or client that has no name of its own. */
  readonly identities: WeakMap<object, number>
  identitiesMade: number
  defaultStore: Store | undefined
  /** One for each store: a process holds its lanes under one name. */
  readonly heartbeats: WeakMap<Store, unknown>
  readonly reports: WeakMap<Store, unknown>
}

// The version is part of the symbol: copies of the package share lanes only where they agree on what a lane is.
const SHARED = Symbol.for('txlane.shared.v4')

export function createShared(): Shared {
  return {
    lanes: new Map(),
    endpointPools: new Map(),
    gates: new Map(),
    deliveries: new Map(),
    counters: new Map(),
    identities: new WeakMap(),
    identitiesMade: 0,
    defaultStore: undefined,
    heartbeats: new WeakMap(),
    reports: new WeakMap(),
  }
}

/** The registry of this process: one, however many copies of the package (ESM beside CJS) are loaded. */
function processShared(): Shared {
  const holder = globalThis as { [SHARED]?: Shared }
  holder[SHARED] ??= createShared()
  return holder[SHARED]
}

/** The machine, the network and the process as they are. */
export function processEnvironment(): Omit<Environment, 'runtime'> {
  return {
    clock: systemClock,
    background: backgroundClock,
    random: systemRandom,
    shared: processShared(),
    warn: (line) => console.warn(line),
  }
}

/** A stable name for an object that has none, within this process. */
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
