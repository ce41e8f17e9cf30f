import type { Hash, Hex } from 'viem'
import type { SimChain } from './chain/simChain.js'
import { type Counter, createCounter } from './coverage.js'
import { createDeliveryMeter, type DeliveryMeter, SPARING_MS } from './delivered.js'
import { type DisturbanceTarget, disturb, healChain } from './disturbances.js'
import { createHost, type Host } from './host.js'
import { type Census, judge, judgeGaps, judgeSequences, takeCensus, type Violation } from './oracle.js'
import { createOrder, type Order } from './order.js'
import { isSignedOutside, LANE } from './outside.js'
import { drawPlan, type Plan, type PlanOptions } from './plan.js'
import { createReplicas, type OnAnswer, type Replicas } from './port/replicas.js'
import { programOf } from './program.js'
import { chance, deriveRandom, pick } from './random.js'
import { createSimStore, NO_STORE_FAULTS } from './simStore.js'
import { createStubAccount } from './stubAccount.js'
import type { CreateSubject } from './subjectTypes.js'
import { decodeTransaction } from './transaction.js'
import { createVirtualClock, type VirtualClock } from './virtualClock.js'
import { asSent, createWorkload, type Workload } from './workload.js'
import { makeChain } from './worldChain.js'

export type WorldResult = {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly census: Census
  readonly transactions: number
  /** Virtual milliseconds from the heal until everything was told. */
  readonly healedInMs: number
  readonly requests: number
  readonly timers: number
  /** The same for every run of the same seed with the same code. */
  readonly digest: string
}

export type WorldOptions = PlanOptions & {
  /** How long the sender has, in virtual time, to finish once nothing goes wrong any more. @default 900_000 */
  readonly healMs?: number
  /** Sees every request of the subject with its answers. */
  readonly onAnswer?: OnAnswer
  /** Counts what was exercised, over many worlds. */
  readonly counter?: Counter
  /** Sees the chain as it is made, to look closer at a failing seed. */
  readonly onWorld?: (world: { plan: Plan; chain: SimChain; clock: VirtualClock; workload: Workload }) => void
}

// Longer than the longest request under way, and then a few blocks.
const AFTERMATH_MS = 20_000
const READY_MS = 60_000
const NOTICED_BLOCKS = 3
// The longest that a signature takes in a healed world.
const SLOW_MS = 300

/** Runs one world to its end: the plan of the seed, the heal, the drain, and a look at what is left. */
export async function runWorld(
  seed: number,
  createSubject: CreateSubject,
  options: WorldOptions = {},
): Promise<WorldResult> {
  const world = openWorld(seed, createSubject, options)
  const { plan, clock, chain, replicas, workload, host, target, wire } = world
  const healMs = options.healMs ?? 900_000
  options.onWorld?.({ plan, chain, clock, workload })

  chain.start()
  if (options.calm) world.meter.start()
  const late: Violation[] = []
  if (!plan.faultyStart) late.push(...(await settled(clock, host.subject.ready(), 'ready', READY_MS)))
  world.break()
  for (const item of plan.items) {
    if (item.authorize) world.counter.strike('authorize')
    if (item.sequence) world.counter.strike('sequence')
    if (item.offers) world.counter.strike(item.offers)
    if (item.changes.some(({ dear }) => dear)) world.counter.strike('hurried')
    workload.start(item)
  }
  startTwins(world)
  for (const each of plan.disturbances) {
    clock.setTimer(() => {
      world.counter.strike(each.kind)
      disturb(target, each)
    }, each.atMs)
  }
  await clock.advance(plan.durationMs)

  world.heal()
  healChain(target)
  for (const one of world.hosts) await one.up()
  const healedAtMs = clock.now()
  const isDone = () => workload.open.size === 0
  await clock.runUntil(() => isDone() || replicas.unanswered === 0, healMs)
  world.meter.start()
  await clock.runUntil(isDone, healMs)
  for (const name of workload.open) late.push({ promise: 'P8', text: `${name} is still open` })
  const healedInMs = clock.now() - healedAtMs
  if (workload.open.size === 0) late.push(...(await drained(world, healMs)))
  // The last thing that went wrong may have been a reorg a moment ago, which nobody can have noticed yet: least of all
  // while an answer is waited for that never comes.
  await clock.runUntil(() => replicas.unanswered === 0, healMs)
  await clock.advance(NOTICED_BLOCKS * plan.blockTimeMs + (replicas.objected ? SPARING_MS : 0))
  if (workload.open.size === 0) late.push(...(await drained(world, healMs)))
  world.meter.stop()
  late.push(...(await settled(clock, workload.lastLook(), 'last look', healMs)))
  late.push(...judgeGaps(chain, LANE, silentOf(plan)))
  const closing = plan.neighbour?.closesFirst ? [...world.hosts].reverse() : world.hosts
  for (const one of closing) {
    late.push(...(await settled(clock, one.subject.close(), 'close', healMs)))
    late.push(...one.leftBehind())
  }
  await aftermath(chain, clock, wire)

  const census = takeCensus(chain, LANE)
  const told = judge(census, workload.markers, workload.tellings)
  const violations = [
    ...late,
    ...(isDisplacing(plan, census, wire) ? [] : judgeSequences(census, sequencesOf(plan))),
    ...world.order.violations(),
    ...world.shown,
    ...world.meter.violations(),
    ...world.unjournaled().map((text): Violation => ({ promise: 'P6', text })),
    ...workload.untyped.map((text): Violation => ({ promise: 'P8', text: `untyped error: ${text}` })),
    // Deeper than `lossDepth` goes no reorg of this world, whatever an endpoint said; but a count below what is final, where
    // no walked block says otherwise, is that of a node that was reset.
    ...(options.deep || countsBehind(plan) || !world.hosts.some(({ beyond }) => beyond)
      ? []
      : [{ promise: 'P8', text: 'held for a deep reorg that was none' } as const]),
    // A hold says that the chain took back what was believed settled: from there on P4 and P5 are the operator's.
    ...(world.hosts.some(({ beyond }) => beyond) ? told.filter(({ promise }) => promise === 'P8') : told),
  ]
  return {
    seed,
    violations,
    census,
    transactions: workload.markers.size,
    healedInMs,
    requests: replicas.list.reduce((sum, { port }) => sum + port.stats.requests, 0),
    timers: clock.firedTimers,
    digest: `${chain.head.hash}/${clock.firedTimers}/${workload.tellings.map(({ how }) => how).join()}`,
  }
}

/** What takes a nonce of the lane past it: then the order of a sequence is not guaranteed. */
const DISPLACING = new Set<string>(['foreign', 'wallet', 'creates', 'submit', 'bump', 'delegate', 'reorg'])

function isDisplacing(plan: Plan, { foreign }: Census, wire: Iterable<Hex>): boolean {
  const { disturbances, items, initialNonce } = plan
  const others = disturbances.some(({ kind }) => DISPLACING.has(kind))
  if (others || foreign > 0 || items.some(({ outside, authorize }) => outside || authorize)) return true
  // Counts that were too low when the lane opened led it to nonces that the account had used before.
  return [...wire].some((raw) => (decodeTransaction(raw)?.nonce ?? initialNonce) < initialNonce)
}

function sequencesOf({ items }: Plan): readonly (readonly number[])[] {
  return items.flatMap(({ marker, sequence }) =>
    sequence === undefined ? [] : [[marker, ...sequence.map((one) => one.marker)]],
  )
}

/** Every endpoint of a world that begins so may count less than the lane has seen become final. */
function countsBehind({ ports }: Plan): boolean {
  return ports.some(({ timed }) => timed.some(({ name }) => name === 'countBehind'))
}

/** What outside code sends without a word to the lane. */
function silentOf({ items }: Plan): ReadonlySet<number> {
  return new Set(items.filter(({ outside }) => outside === 'silent').map(({ marker }) => marker))
}

/** By every process: what outside code has of the lane's nonces is seen through by the one that holds it. */
async function drained({ hosts, clock }: OpenWorld, healMs: number): Promise<Violation[]> {
  const found: Violation[] = []
  for (const { subject } of hosts) {
    // An opening that began in the broken world may still fail in the healed one: then it is asked for once more.
    const drains = subject.drain().catch(() => subject.drain())
    found.push(...(await settled(clock, drains, 'drain', healMs)))
  }
  return found
}

/** The neighbour sends what the caller sends, and does not ask what became of it. */
function startTwins({ plan, clock, hosts }: OpenWorld): void {
  const [, neighbour] = hosts
  if (neighbour === undefined) return
  void neighbour.subject.ready().catch(() => {})
  for (const { marker, atMs } of plan.neighbour?.twins ?? []) {
    const item = plan.items.find((one) => one.marker === marker)
    if (item === undefined) continue
    const { request, ...own } = asSent(item)
    const send = () => neighbour.subject.send(request, { ...own, until: 'queued' })
    clock.setTimer(() => void send().catch(() => {}), atMs)
  }
}

type OpenWorld = {
  readonly plan: Plan
  readonly clock: VirtualClock
  readonly chain: SimChain
  readonly replicas: Replicas
  readonly workload: Workload
  /** The caller's process. */
  readonly host: Host
  /** It, and the neighbour where there is one. */
  readonly hosts: readonly Host[]
  readonly target: DisturbanceTarget
  readonly counter: Counter
  /** Everything that was ever sent. */
  readonly wire: ReadonlySet<Hex>
  readonly order: Order
  readonly meter: DeliveryMeter
  /** Private transactions that somebody saw who was not to. */
  readonly shown: readonly Violation[]
  /** What the lane sent and had not journaled. */
  unjournaled(): string[]
  break(): void
  heal(): void
}

function openWorld(seed: number, create: CreateSubject, options: WorldOptions): OpenWorld {
  const plan = drawPlan(seed, options)
  const counter = options.counter ?? createCounter()
  const clock = createVirtualClock()
  const fooled = plan.ports.some(
    ({ faults, lagMs }) => lagMs > 0 || Object.values(faults).some((rate) => rate > 0),
  )
  const order = createOrder(plan.items, { strike: counter.strike, fooled })
  const chain = makeChain(plan, clock, (view) => order.shown(view, plan.rules === 'base'))
  const wire = new Set<Hex>()
  const meter = createDeliveryMeter({
    plan,
    calm: options.calm === true,
    chain,
    clock,
    objected: () => replicas.objected,
  })
  const early: string[] = []
  const shown: Violation[] = []
  const secrets = secretsOf(plan)
  if (plan.broadcast === 'all') counter.strike('broadcastAll')
  for (const option of Object.keys(plan.pool)) counter.strike(option)
  const faults = { ...NO_STORE_FAULTS }
  const random = (part: string) => deriveRandom(seed, part)
  const store = createSimStore({ clock, random: random('store'), faults, strike: counter.strike })
  const replicas = createReplicas({
    seed,
    plans: plan.ports,
    faultyStart: plan.faultyStart,
    chain,
    clock,
    strike: counter.strike,
    onAnswer: options.onAnswer,
    onRaw(raw, role, port) {
      meter.sent(port, raw)
      const tx = decodeTransaction(raw)
      const hash = tx?.hash as Hash
      const marker = tx && programOf(tx)?.marker
      if (marker !== undefined && secrets.has(marker)) {
        counter.strike('private')
        if (role !== 'send') shown.push({ promise: 'private', text: `shown to a ${role} endpoint`, marker })
      }
      if (!store.journaled.has(hash)) early.push(`${hash} was sent before it was journaled`)
      order.sent(raw)
      wire.add(raw)
    },
  })
  const common = {
    create,
    machine: {
      clock,
      ports: replicas.list,
      account: makeAccount(plan, clock, () => replicas.healed, counter),
      looksPerMs: options.busy ? pick(random('busy'), [1, 8]) : undefined,
    },
    world: {
      chainId: chain.settings.chainId,
      lossDepth: plan.lossDepth,
      settings: chain.settings,
      probe: counter,
      broadcast: plan.broadcast,
      strike: counter.strike,
    },
    chain,
    openStore: store.open,
  }
  const host: Host = createHost({
    ...common,
    random: (life) => random(`subject ${life}`),
    crashed: () => workload.crashed(),
    restarted: (subject) => workload.restarted(subject),
  })
  const hosts = [host]
  if (plan.neighbour) {
    counter.strike('neighbour')
    hosts.push(
      createHost({ ...common, random: (life) => random(`neighbour ${life}`), crashed() {}, restarted() {} }),
    )
  }
  const workload = createWorkload({
    clock,
    chainId: chain.settings.chainId,
    subject: host.subject,
    async post(raw) {
      wire.add(raw)
      const admission = chain.submit(raw)
      return admission.ok ? undefined : new Error(admission.message)
    },
  })
  const { freeze } = replicas
  return {
    plan,
    clock,
    chain,
    replicas,
    workload,
    host,
    hosts,
    target: {
      chain,
      clock,
      random: random('disturb'),
      lane: LANE,
      owns: ({ hash, raw }) => store.journaled.has(hash) && !isSignedOutside(raw),
      freeze,
      crash: (process, downMs) => hosts[process]?.crash(downMs),
      stop: (process, forMs) => hosts[process]?.stop(forMs),
      stepWall: clock.stepWall,
    },
    counter,
    wire,
    order,
    meter,
    shown,
    unjournaled: () => early,
    break() {
      replicas.break()
      Object.assign(faults, plan.store)
    },
    heal() {
      replicas.heal()
      Object.assign(faults, NO_STORE_FAULTS)
    },
  }
}

/** Private ones by marker, and what replaces them, which is as private. */
function secretsOf({ items }: Plan): ReadonlySet<number> {
  const secret = items.filter((item) => item.private)
  return new Set(secret.flatMap(({ marker, changes }) => [marker, ...changes.map((each) => each.marker)]))
}

function makeAccount(plan: Plan, clock: VirtualClock, healed: () => boolean, { strike }: Counter) {
  const random = deriveRandom(plan.seed, 'signer')
  const { failures, delayMsMax } = plan.signer
  return createStubAccount(LANE, {
    clock,
    delayMs() {
      if (delayMsMax === 0) return 0
      strike('signerSlow')
      return random() * (healed() ? Math.min(delayMsMax, SLOW_MS) : delayMsMax)
    },
    fails() {
      const fails = !healed() && chance(random, failures)
      if (fails) strike('signerFails')
      return fails
    },
  })
}

/** Runs the clock until a promise of the subject settles; a violation where it does not, or rejects. */
async function settled(
  clock: VirtualClock,
  promise: Promise<unknown>,
  what: string,
  maxMs: number,
): Promise<Violation[]> {
  let state = 'is still open'
  const watched = promise.then(
    () => {
      state = ''
    },
    (error: unknown) => {
      state = `rejected: ${error instanceof Error ? error.message : String(error)}`
    },
  )
  await clock.runUntil(() => state !== 'is still open', maxMs)
  if (state !== 'is still open') await watched
  return state === '' ? [] : [{ promise: 'P8', text: `${what} ${state}` }]
}

/**
 * What is journaled may be sent by anyone, for ever (P2): after the sender is gone, requests that were under way
 * arrive, and somebody sends everything that was ever on the wire once more.
 */
async function aftermath(chain: SimChain, clock: VirtualClock, wire: ReadonlySet<Hex>): Promise<void> {
  await clock.advance(AFTERMATH_MS)
  for (const raw of wire) chain.submit(raw)
  await clock.advance(AFTERMATH_MS)
  chain.stop()
}
