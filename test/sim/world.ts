import type { Hex } from 'viem'
import { answersTo, makeFinalityJudge } from './answers.js'
import type { SimChain } from './chain/simChain.js'
import { type Counter, createCounter } from './coverage.js'
import { createDeliveryMeter, type DeliveryMeter, SPARING_MS } from './delivered.js'
import { type DisturbanceTarget, disturb, healChain } from './disturbances.js'
import type { FinalityJudge } from './finality.js'
import { createHost, type Host } from './host.js'
import { createLoadJudge, type LoadJudge } from './load.js'
import { type Census, judge, judgeGaps, judgeSequences, takeCensus, type Violation } from './oracle.js'
import { createOrder, type Order } from './order.js'
import { isSignedOutside, LANE } from './outside.js'
import { drawPlan, type Plan, type PlanOptions } from './plan.js'
import { createReplicas, type OnAnswer, type Replicas } from './port/replicas.js'
import { deriveRandom, pick } from './random.js'
import { createSimStore, NO_STORE_FAULTS } from './simStore.js'
import type { CreateSubject } from './subjectTypes.js'
import { reorgDepthNow, tagPatienceMs } from './tagPlan.js'
import { decodeTransaction } from './transaction.js'
import { createVirtualClock, type VirtualClock } from './virtualClock.js'
import { createWire, type Wire } from './wire.js'
import { asSent } from './workload/requests.js'
import { createWorkload, type Workload } from './workload.js'
import { makeChain } from './worldChain.js'
import { makeAccount } from './worldSigner.js'

export type WorldResult = {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly census: Census
  readonly transactions: number
  /** Virtual milliseconds from the heal until every report had come. */
  readonly healedInMs: number
  readonly requests: number
  readonly timers: number
  /** Equal in every run of the same seed with the same code. */
  readonly digest: string
}

export type WorldOptions = PlanOptions & {
  /** The virtual time that the sender has to finish once nothing goes wrong any more. @default 900_000 */
  readonly healMs?: number
  /** Called with every request of the subject and its answers. */
  readonly onAnswer?: OnAnswer
  /** Counts the exercised rows, answers and faults, over many worlds. */
  readonly counter?: Counter
  /** Called with the parts of the world when they are made, to inspect a failing seed. */
  readonly onWorld?: (world: { plan: Plan; chain: SimChain; clock: VirtualClock; workload: Workload }) => void
}

// Longer than the longest request in flight, and then a few blocks.
const AFTERMATH_MS = 20_000
const READY_MS = 60_000
const NOTICED_BLOCKS = 3
// A process polls once in two seconds until it knows the time between blocks, and then reads the missed blocks.
const NOTICED_MS_MIN = 3_000
// At a few calls a second the missed blocks of a fast chain are read hardly faster than new ones come, until the
// learned rate has grown.
const SPARING_FAST_MS = 60_000

/** Runs one world to its end: the plan of the seed, the heal, the drain, and the final checks. */
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
  // The last fault may have been a reorg a moment ago, which no sender can have noticed yet, in particular
  // while it waits for an answer that never comes.
  await clock.runUntil(() => replicas.unanswered === 0, healMs)
  const sparingMs = plan.kind === 'fastBlocks' ? SPARING_FAST_MS : SPARING_MS
  await clock.advance(
    Math.max(NOTICED_MS_MIN, NOTICED_BLOCKS * plan.blockTimeMs) + (replicas.objected ? sparingMs : 0),
  )
  if (workload.open.size === 0) late.push(...(await drained(world, healMs)))
  world.meter.stop()
  late.push(...(await settled(clock, workload.lastLook(), 'last look', healMs)))
  late.push(...judgeGaps(chain, LANE, silentOf(plan)))
  const closing = plan.neighbour?.closesFirst ? [...world.hosts].reverse() : world.hosts
  for (const one of closing) {
    late.push(...(await settled(clock, one.subject.close(), 'close', healMs)))
    late.push(...one.leftBehind())
  }
  await aftermath(chain, clock, wire.raws)

  const census = takeCensus(chain, LANE)
  const reported = judge(census, workload.markers, workload.reports)
  const violations = [
    ...late,
    ...(isDisplacing(plan, census, wire.raws) ? [] : judgeSequences(census, sequencesOf(plan))),
    ...world.order.violations(),
    ...wire.shown,
    ...world.meter.violations(),
    ...world.load.violations(),
    ...world.finality.violations(options.deep || countsBehind(plan)),
    ...wire.unjournaled.map((text): Violation => ({ promise: 'P6', text })),
    ...workload.untyped.map((text): Violation => ({ promise: 'P8', text: `untyped error: ${text}` })),
    // No reorg of this world is deeper than `lossDepth`, regardless of endpoints' answers. But a count below
    // a final nonce, without a walked block against it, looks like that of a reset node.
    ...(options.deep || countsBehind(plan) || !world.hosts.some(({ beyond }) => beyond)
      ? []
      : [{ promise: 'P8', text: 'held for a deep reorg that did not happen' } as const]),
    // After such a hold the chain took back uses that were believed settled: from then on P4 and P5 are up to
    // the operator.
    ...(world.hosts.some(({ beyond }) => beyond)
      ? reported.filter(({ promise }) => promise === 'P8')
      : reported),
  ]
  return {
    seed,
    violations,
    census,
    transactions: workload.markers.size,
    healedInMs,
    requests: replicas.list.reduce((sum, { port }) => sum + port.stats.requests, 0),
    timers: clock.firedTimers,
    digest: `${chain.head.hash}/${clock.firedTimers}/${workload.reports.map(({ how }) => how).join()}`,
  }
}

/** Disturbances that use a nonce of the lane. After them the order of a sequence is not guaranteed. */
const DISPLACING = new Set<string>(['foreign', 'wallet', 'creates', 'submit', 'bump', 'delegate', 'reorg'])

function isDisplacing(plan: Plan, { foreign }: Census, wire: Iterable<Hex>): boolean {
  const { disturbances, items, initialNonce } = plan
  const others = disturbances.some(({ kind }) => DISPLACING.has(kind))
  if (others || foreign > 0 || items.some(({ outside, authorize }) => outside || authorize)) return true
  // Too low counts at the opening led the lane to nonces that the account had used before.
  return [...wire].some((raw) => (decodeTransaction(raw)?.nonce ?? initialNonce) < initialNonce)
}

function sequencesOf({ items }: Plan): readonly (readonly number[])[] {
  return items.flatMap(({ marker, sequence }) =>
    sequence === undefined ? [] : [[marker, ...sequence.map((one) => one.marker)]],
  )
}

/** True if an endpoint of the world may count less than the lane has seen become final. */
function countsBehind({ ports }: Plan): boolean {
  return ports.some(({ timed }) => timed.some(({ name }) => name === 'countBehind'))
}

/** The transactions that outside code sends without committing them. */
function silentOf({ items }: Plan): ReadonlySet<number> {
  return new Set(items.filter(({ outside }) => outside === 'silent').map(({ marker }) => marker))
}

/** Drains every process, because the process that owns the lane finishes the nonces of outside code. */
async function drained({ hosts, clock }: OpenWorld, healMs: number): Promise<Violation[]> {
  const found: Violation[] = []
  for (const { subject } of hosts) {
    // An opening that began in the broken world may still fail in the healed one; then the drain is requested
    // once more.
    const drains = subject.drain().catch(() => subject.drain())
    found.push(...(await settled(clock, drains, 'drain', healMs)))
  }
  return found
}

/** The neighbour sends the caller's transactions too, and does not query their outcomes. */
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
  /** The caller's process, and the neighbour if there is one. */
  readonly hosts: readonly Host[]
  readonly target: DisturbanceTarget
  readonly counter: Counter
  readonly wire: Wire
  readonly order: Order
  readonly meter: DeliveryMeter
  readonly finality: FinalityJudge
  readonly load: LoadJudge
  break(): void
  heal(): void
}

function countPlan(plan: Plan, { strike }: Counter): void {
  if (plan.broadcast === 'all') strike('broadcastAll')
  if (plan.kind === 'fastBlocks') strike('fastBlocks')
  if (plan.fast.stampsMs) strike('timestampMs')
  for (const option of Object.keys(plan.pool)) strike(option)
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
  const meter = createDeliveryMeter({
    plan,
    calm: options.calm === true,
    chain,
    clock,
    objected: () => replicas.objected,
  })
  countPlan(plan, counter)
  const faults = { ...NO_STORE_FAULTS }
  const random = (part: string) => deriveRandom(seed, part)
  const finality = makeFinalityJudge(plan, chain)
  const store = createSimStore({
    clock,
    random: random('store'),
    faults,
    strike: counter.strike,
    onStored: finality.stored,
  })
  const load = createLoadJudge({ processes: plan.neighbour ? 2 : 1 })
  const wire = createWire({ plan, store, order, meter, strike: counter.strike })
  const replicas = createReplicas({
    seed,
    plans: plan.ports,
    faultyStart: plan.faultyStart,
    chain,
    clock,
    strike: counter.strike,
    count: counter.count,
    onAnswer: answersTo({ finality, load, onAnswer: options.onAnswer }),
    onRaw: wire.onRaw,
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
      finality: plan.finality,
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
    tags: { patienceMs: (tag) => tagPatienceMs(plan, tag), ...finality },
  })
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
      freeze: replicas.freeze,
      crash: (process, downMs) => hosts[process]?.crash(downMs),
      stop: (process, forMs) => hosts[process]?.stop(forMs),
      stepWall: clock.stepWall,
      reorgDepthNow: () => reorgDepthNow(chain, plan, options.deep === true),
    },
    counter,
    wire,
    order,
    meter,
    finality,
    load,
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

/** Runs the clock until a promise of the subject settles; returns a violation if it does not, or rejects. */
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
 * Any process may send journaled bytes at any later time (P2). So after the sender is gone, requests in
 * flight arrive, and everything that was ever on the wire is sent once more.
 */
async function aftermath(chain: SimChain, clock: VirtualClock, wire: ReadonlySet<Hex>): Promise<void> {
  await clock.advance(AFTERMATH_MS)
  for (const raw of wire) chain.submit(raw)
  await clock.advance(AFTERMATH_MS)
  chain.stop()
}
