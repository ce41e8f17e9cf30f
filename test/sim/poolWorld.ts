import type { Address } from 'viem'
import { createPool, type SenderPool } from '../../src/api/pool/pool.js'
import * as runtime from '../../src/api/runtime.js'
import { createMemberIn } from '../../src/api/sender/sender.js'
import { createShared, type Environment } from '../../src/chain/environment.js'
import type { TxlaneError } from '../../src/errors/base.js'
import type { Random } from '../../src/platform/clock.js'
import type { SendOptions, TxRequest } from '../../src/types/index.js'
import { createChain } from './chain/chain.js'
import type { SimChain } from './chain/simChain.js'
import { drawWallSteps } from './disturbances.js'
import type { Violation } from './oracle.js'
import { type Sent, violationsOfPools } from './poolOracle.js'
import { type Faults, NO_FAULTS } from './port/faults.js'
import { createSimPort } from './port/simPort.js'
import { type Process, startProcess } from './process.js'
import { programRequest } from './program.js'
import { between, chance, deriveRandom, pick } from './random.js'
import { createSimClient, simSignatures } from './simClient.js'
import {
  createSimStore,
  NO_STORE_FAULTS,
  type OpenSimStore,
  type SimStore,
  type StoreFaults,
} from './simStore.js'
import { createStubAccount } from './stubAccount.js'
import { createVirtualClock, type VirtualClock } from './virtualClock.js'

export type PoolResult = {
  readonly violations: readonly Violation[]
  readonly transactions: number
  /** The number of transactions that moved to another lane. */
  readonly handed: number
  readonly timers: number
  readonly requests: number
  readonly healedInMs: number
}

type Machine = {
  readonly process: Process
  readonly opened: OpenSimStore
  readonly pool: SenderPool
  readonly keys: readonly Address[]
}

/** The shared parts of a world. */
type World = {
  readonly seed: number
  readonly random: Random
  readonly clock: VirtualClock
  readonly chain: SimChain
  readonly keys: readonly Address[]
  /**
   * The only key that is ever funded, in some worlds: the process that owns it receives the transactions of
   * the others.
   */
  readonly rich: Address | undefined
  readonly kept: SimStore
  readonly faults: Faults
  readonly storeFaults: StoreFaults
  readonly machines: Machine[]
  readonly sent: Sent[]
  /** Promises that a caller waits for. */
  readonly open: Set<{ readonly machine: Machine; readonly what: string }>
  lives: number
  requests: number
}

const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
const FEES = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
const TRANSFER_WEI = 21_000n * FEES.maxFeePerGas
const BALANCES = [0n, TRANSFER_WEI / 2n, 3n * TRANSFER_WEI, ETHER / 10n, ETHER, 5n * ETHER]
const VALUES = [0n, 1n, TRANSFER_WEI, ETHER / 20n, ETHER / 3n, 2n * ETHER]
const KEYS = ['a1', 'b2', 'c3', 'd4'].map((byte) => `0x${byte.repeat(20)}` as Address)
const BROKEN_MS = 25_000
// Slightly more than the longest stop of a process.
const STOPPED_MS_MAX = 15_000
const HEAL_MS_MAX = 900_000
const RECEIPTS_MS = 15_000

/**
 * A world of pools, from one seed: keys whose funds come and go, one or two processes that are killed and
 * stopped, a chain and a store that lose requests and answers. Transactions that wait at a key without
 * funds, or at a paused or retired one, move from lane to lane.
 */
export async function runPoolWorld(seed: number): Promise<PoolResult> {
  const world = openWorld(seed)
  const { clock, chain, keys, machines, sent, kept } = world
  disturb(world)
  await clock.advance(BROKEN_MS + STOPPED_MS_MAX + 1_000)
  const healedAtMs = clock.now()
  heal(world)
  const payingOff = payForNonces(world)
  const drained = await settles(clock, Promise.all(machines.map(({ pool }) => pool.drain())))
  payingOff()
  const healedInMs = clock.now() - healedAtMs
  await clock.advance(5_000)
  // A process that learned a low rate limit reads its receipts one after the other.
  await clock.runUntil(() => !isWaitedFor(world), RECEIPTS_MS)
  for (const one of sent) await find(world, one)
  const violations = [...violationsOfPools(chain, keys, sent)]
  for (const { machine, what } of world.open)
    if (machines.includes(machine)) violations.push({ promise: 'P8', text: `${what} is still open` })
  if (!drained) violations.push({ promise: 'P8', text: 'the pools did not drain' })
  const closed = await settles(clock, Promise.all(machines.map(({ pool }) => pool.close())))
  if (!closed) violations.push({ promise: 'P8', text: 'close hangs' })
  chain.stop()
  await clock.advance(STOPPED_MS_MAX)
  const timers = machines.reduce((sum, { process }) => sum + process.pendingTimers, 0)
  if (timers > 0) violations.push({ promise: 'P8', text: `${timers} timers are left` })
  const { requests } = world
  const { firedTimers } = clock
  return {
    violations,
    transactions: sent.length,
    handed: kept.handed.size,
    timers: firedTimers,
    requests,
    healedInMs,
  }
}

function openWorld(seed: number): World {
  const random = deriveRandom(seed, 'pools')
  const clock = createVirtualClock()
  const keys = KEYS.slice(0, between(random, 2, KEYS.length))
  const rich = chance(deriveRandom(seed, 'one rich key'), 0.3) ? keys.at(-1) : undefined
  const accounts = keys.map((address) => {
    const balanceWei = pick(random, BALANCES)
    return { address, nonce: 0, balanceWei: rich === undefined || rich === address ? balanceWei : 0n }
  })
  const chain = createChain({ clock, random: deriveRandom(seed, 'chain'), accounts })
  const faults: Faults = { ...NO_FAULTS }
  const storeFaults: StoreFaults = { ...NO_STORE_FAULTS }
  if (chance(random, 0.7)) Object.assign(faults, { lostResponse: 0.03, lostRequest: 0.03, http429: 0.01 })
  if (chance(random, 0.5))
    Object.assign(storeFaults, { delayMsMax: between(random, 0, 400), lostAnswer: 0.03, lostCommit: 0.03 })
  const kept = createSimStore({
    clock,
    random: deriveRandom(seed, 'store'),
    hints: deriveRandom(seed, 'reports'),
    faults: storeFaults,
    strike: () => {},
  })
  const own = { seed, random, clock, chain, keys, rich, kept, faults, storeFaults }
  const world: World = { ...own, machines: [], sent: [], open: new Set(), lives: 0, requests: 0 }
  chain.start()
  world.machines.push(start(world, keys))
  // The second process may know fewer keys.
  if (chance(random, 0.5)) world.machines.push(start(world, chance(random, 0.3) ? keys.slice(1) : keys))
  return world
}

function start(world: World, keys: readonly Address[]): Machine {
  const { seed, clock, chain, faults, kept } = world
  const life = ++world.lives
  const port = createSimPort(chain, {
    clock,
    random: deriveRandom(seed, `port ${life}`),
    faults,
    onAnswer: () => void world.requests++,
  })
  const account = createStubAccount(keys[0] as Address, { clock })
  const opened = kept.open()
  const ports = [{ port, role: 'both' as const }]
  const process = startProcess({ clock, ports, account, store: opened.store })
  const environment: Environment = {
    clock: process.clock,
    random: deriveRandom(seed, `life ${life}`),
    portsOf: () => process.ports,
    runtime: () => runtime,
    signatures: simSignatures,
    shared: createShared(),
  }
  const own = process.ports[0]?.port ?? port
  const client = createSimClient({ port: own, chainId: chain.settings.chainId, account })
  const make = ({ address }: { address: Address }) =>
    createMemberIn(environment, {
      client: client as never,
      account: createStubAccount(address, { clock: process.clock }),
      store: process.store,
      lossDepth: 'child',
      groups: { named: { two: { weight: 3 }, bound: { inFlightMax: 1 } } },
    })
  const members = keys.map((address) => make({ address }))
  return { process, opened, pool: createPool(members, { make }), keys }
}

function disturb(world: World): void {
  const { seed, random, clock, chain, keys, rich, machines } = world
  const often = (times: number, what: () => void) => {
    for (let time = 0; time < times; time++) clock.setTimer(what, between(random, 500, BROKEN_MS))
  }
  often(between(random, 5, 30), () => send(world))
  often(between(random, 0, 5), () => {
    const wei = pick(random, BALANCES)
    const change = { address: pick(random, keys), balanceWei: chance(random, 0.5) ? wei : -wei }
    if (rich === undefined || rich === change.address) chain.adjust(change)
  })
  often(between(random, 0, 2), () => {
    const index = between(random, 0, machines.length - 1)
    const dead = machines[index] as Machine
    dead.process.kill()
    void dead.opened.expire()
    machines[index] = start(world, dead.keys)
  })
  often(between(random, 0, 1), () => {
    const { process } = pick(random, machines)
    process.stop()
    clock.setTimer(process.cont, between(random, 1_000, STOPPED_MS_MAX))
  })
  for (const { atMs, byMs } of drawWallSteps(deriveRandom(seed, 'wall steps'), BROKEN_MS))
    clock.setTimer(() => clock.stepWall(byMs), atMs)
  moveKeys(world)
}

/**
 * Keys are paused and resumed, retired and restored, each time in one process. Drawn separately, so that
 * found seeds keep the rest of their worlds.
 */
function moveKeys(world: World): void {
  const { seed, clock, rich, machines } = world
  const random = deriveRandom(seed, 'keys that come and go')
  const later = (what: () => void) => clock.setTimer(() => unlessRefused(what), between(random, 200, 6_000))
  for (let times = between(random, 0, 4); times > 0; times--) {
    clock.setTimer(
      () => {
        const machine = pick(random, machines)
        const { pool, keys } = machine
        const address = pick(random, keys)
        if (address === rich) return
        if (chance(random, 0.5)) {
          unlessRefused(() => pool.pause(address))
          return void later(() => pool.resume(address))
        }
        expectEnd(world, machine, `the retirement of ${address}`, pool.retire(address))
        if (chance(random, 0.7)) later(() => void pool.add(createStubAccount(address, { clock })))
      },
      between(random, 500, BROKEN_MS),
    )
  }
}

/** The last account of a pool cannot be retired, and a retired one cannot be paused. */
function unlessRefused(what: () => void): void {
  try {
    what()
  } catch (error) {
    if ((error as TxlaneError).code !== 'INVALID') throw error
  }
}

function send(world: World): void {
  const { random, clock, sent } = world
  const one: Sent = {
    marker: sent.length + 1,
    id: `t${sent.length + 1}`,
    reported: undefined,
    found: undefined,
  }
  sent.push(one)
  const machine = pick(random, world.machines)
  const later = (what: () => void) => clock.setTimer(what, between(random, 0, 6_000))
  const controller = new AbortController()
  if (chance(random, 0.1)) later(() => controller.abort())
  const cancels = chance(random, 0.1)
  const request = requestOf(random, one.marker)
  const sending = machine.pool.send(request, {
    ...optionsOf(random, clock.wallNow()),
    // Drawn separately, so that found seeds keep the rest of their worlds.
    ...(chance(deriveRandom(world.seed, `starved ${one.id}`), 0.5) ? { starved: 'wait' } : {}),
    ...groupOf(deriveRandom(world.seed, `group ${one.id}`)),
    id: one.id,
    signal: controller.signal,
  })
  const landed = sending.then((tx) => {
    if (cancels) later(() => expectEnd(world, machine, `the cancel of ${one.id}`, tx.cancel()))
    return tx.wait('sealed')
  })
  const reported = landed.then(
    () => {
      one.reported = 'landed'
    },
    (error: TxlaneError) => {
      one.reported = error.fate
      if (error.fate === 'notExecuted')
        sendAgain(world, one, request, deriveRandom(world.seed, `again ${one.id}`))
    },
  )
  expectEnd(world, machine, `the send of ${one.id}`, reported)
}

/**
 * The caller got the report that it did not run, and sends it again, through any process, after each such
 * end.
 */
function sendAgain(world: World, one: Sent, request: TxRequest, random: Random): void {
  if (!chance(random, 0.5)) return
  const machine = pick(random, world.machines)
  one.reported = undefined
  const anew = machine.pool
    .send(request, { id: one.id, again: true, until: 'queued', starved: 'wait' })
    .then((tx) => tx.wait('sealed'))
  const reported = anew.then(
    () => {
      one.reported = 'landed'
    },
    (error: TxlaneError) => {
      one.reported = error.fate
      if (error.fate === 'notExecuted') sendAgain(world, one, request, random)
    },
  )
  expectEnd(world, machine, `${one.id}, sent again`, reported)
}

function isWaitedFor({ open, machines }: World): boolean {
  return [...open].some(({ machine }) => machines.includes(machine))
}

/** A violation if the promise never settles, unless its process dies first. */
function expectEnd(world: World, machine: Machine, what: string, promise: Promise<unknown>): void {
  const one = { machine, what }
  world.open.add(one)
  const end = () => void world.open.delete(one)
  promise.then(end, end)
}

function requestOf(random: Random, marker: number): TxRequest {
  const given = chance(random, 0.8) ? { gas: 21_000n, ...FEES } : {}
  return {
    ...programRequest({ kind: 'transfer', marker }),
    value: pick(random, VALUES),
    ...given,
  } as TxRequest
}

function groupOf(random: Random): Pick<SendOptions, 'group'> {
  return chance(random, 0.5) ? { group: pick(random, ['one', 'two', 'bound']) } : {}
}

function optionsOf(random: Random, nowMs: number): SendOptions {
  const expires = { atMs: nowMs + between(random, 500, 9_000) }
  return {
    until: 'queued',
    ...(chance(random, 0.4) ? { affinity: pick(random, ['x', 'y', 'z']) } : {}),
    ...(chance(random, 0.1) ? { expires, onExpiry: 'cancel' } : {}),
  }
}

function heal({ faults, storeFaults, chain, keys, rich, machines }: World): void {
  for (const { pool } of machines) pool.resume()
  Object.assign(faults, NO_FAULTS)
  Object.assign(storeFaults, NO_STORE_FAULTS)
  for (const address of rich ? [rich] : keys) chain.adjust({ address, balanceWei: 100n * ETHER })
}

/**
 * A transaction with a nonce is finished at its key, and nonces are assigned even if a balance could not be
 * read. Such a key gets funds, in a world in which only one key is funded.
 */
function payForNonces({ chain, clock, keys, rich, machines }: World): () => void {
  if (rich === undefined) return () => {}
  const paid = new Set<Address>([rich])
  let next = () => {}
  const look = () => {
    const bound = machines.flatMap(({ pool }) => pool.inFlight().map((tx) => tx.toJSON().from.toLowerCase()))
    for (const address of keys) {
      if (paid.has(address) || !bound.includes(address)) continue
      paid.add(address)
      chain.adjust({ address, balanceWei: 100n * ETHER })
    }
    next = clock.setTimer(look, 2_000)
  }
  look()
  return () => next()
}

async function find({ clock, machines }: World, one: Sent): Promise<void> {
  const [first] = machines as [Machine]
  await settles(
    clock,
    first.pool.get(one.id).then((tx) => {
      one.found = tx?.stage
    }),
  )
}

/** False if it is still open after a long time. */
async function settles(clock: VirtualClock, promise: Promise<unknown>): Promise<boolean> {
  let over = false
  const end = () => {
    over = true
  }
  promise.then(end, end)
  return clock.runUntil(() => over, HEAL_MS_MAX)
}
