import type { Random } from '../../src/platform/clock.js'
import type { EndpointRole } from '../../src/rpc/port.js'
import type { ChainKind, ChainRules } from './chain/options.js'
import {
  CHAIN_KINDS,
  type ChainPlan,
  drawBlockTimeMs,
  drawChain,
  drawLossDepth,
  type LossDepth,
  reorgDepthMax,
} from './chainPlan.js'
import {
  type Disturbance,
  drawDisturbances,
  drawStalls,
  drawStrandings,
  drawTipFloors,
  drawWallSteps,
} from './disturbances.js'
import {
  drawAuthorizations,
  drawOffers,
  drawSequences,
  drawWorkload,
  type Item,
  withDependents,
} from './items.js'
import { drawLocals, drawPool, type PoolPlan } from './poolOptions.js'
import { drawTimedFaults } from './port/timedFault.js'
import { drawPort, drawPorts, type PortPlan } from './portPlan.js'
import { between, chance, deriveRandom, pick } from './random.js'
import { NO_STORE_FAULTS, type StoreFaults } from './simStore.js'
import { drawPush, drawSyncCallers, drawSyncSends, drawSyncSeries, socketFaultsOf } from './socketPlan.js'
import { drawFinality, drawTags, drawTagWaits, type Finality } from './tagPlan.js'

/** All events of a world, drawn from its seed before it begins. */
export type Plan = ChainPlan & {
  readonly seed: number
  readonly blockTimeMs: number
  readonly pendingHash: 'partial' | 'zero' | 'null'
  readonly baseFeeNoise: number
  readonly pool: PoolPlan
  readonly lossDepth: LossDepth
  /** Declared by the user. */
  readonly finality: Finality | undefined
  readonly safeDepth: number
  readonly initialNonce: number
  readonly ports: readonly PortPlan[]
  readonly broadcast: 'first' | 'all'
  /** True if faults begin before the sender is ready. */
  readonly faultyStart: boolean
  readonly signer: { readonly failures: number; readonly delayMsMax: number }
  readonly store: StoreFaults
  /** Foreign transactions with the same key that wait in the pool before the lane opens. */
  readonly earlier: number
  readonly items: readonly Item[]
  readonly disturbances: readonly Disturbance[]
  /** A second process with the same store. */
  readonly neighbour: Neighbour | undefined
  /** The time at which the world heals: no fault and no disturbance after it. */
  readonly durationMs: number
}

export type Neighbour = {
  /** The items that it also sends, with the same ids. */
  readonly twins: readonly { readonly marker: number; readonly atMs: number }[]
  readonly closesFirst: boolean
}

export type PlanOptions = {
  /** The smallest and largest number of transactions. @default drawn: 1 to 3, 2 to 4, 3 to 7 or 8 to 20 */
  readonly transactions?: { readonly min: number; readonly max: number }
  /** The time until the world heals. @default drawn with the size: 6, 10, 20 or 40 s */
  readonly durationMs?: number
  /** Without faults and disturbances. @default false */
  readonly calm?: boolean
  /** Reorgs deeper than `lossDepth`, beyond the promises. @default false */
  readonly deep?: boolean
  /** The kinds of chain. @default CHAIN_KINDS */
  readonly chains?: readonly ChainKind[]
  /** The distance of tags to the head of a slow chain: some blocks, or drawn times. @default 'time' */
  readonly tags?: 'blocks' | 'time'
  /** Some endpoints announce heads, and some answer a send with its receipt. @default true */
  readonly sockets?: boolean
  /** Slow processes: the work of one turn takes time, so that long work is split. @default false */
  readonly busy?: boolean
  /** Removes everything that is not named, to shrink a failing world. @default all is kept */
  readonly keep?: Keep
}

/** The parts of a drawn plan to keep; by marker, by index, by name. */
export type Keep = {
  readonly items?: readonly number[]
  readonly disturbances?: readonly number[]
  readonly faults?: readonly string[]
}

export const WORST_STORE: StoreFaults = { delayMsMax: 200, lostAnswer: 0.1, lostCommit: 0.1 }

// Most worlds are small: faults between two transactions occur there, and can be read.
const SIZES = [
  { share: 0.68, transactions: { min: 1, max: 3 }, durationMs: 6_000 },
  { share: 0.2, transactions: { min: 2, max: 4 }, durationMs: 10_000 },
  { share: 0.1, transactions: { min: 3, max: 7 }, durationMs: 20_000 },
  { share: 0.02, transactions: { min: 8, max: 20 }, durationMs: 40_000 },
] as const

/** Draws a world. The same seed and options make the same plan. */
export function drawPlan(seed: number, options: PlanOptions = {}): Plan {
  const { calm = false, deep = false, chains = CHAIN_KINDS, tags = 'time', sockets = true } = options
  const random = deriveRandom(seed, 'plan')
  const size = drawSize(random)
  const { durationMs = size.durationMs, transactions = size.transactions } = options
  const drawnRules = pick<ChainRules>(random, ['base', 'base', 'base', 'geth', 'reth', 'latest'])
  const chain = drawChain(deriveRandom(seed, 'kind'), drawnRules, chains)
  const { kind, rules } = chain
  const safeDepth = between(random, 3, 5)
  const lossDepth = drawLossDepth(random, kind)
  const ports = drawPorts(random, calm, safeDepth)
  const drawn = drawWorkload(
    deriveRandom(seed, 'workload'),
    between(random, transactions.min, transactions.max),
    {
      spanMs: Math.floor(durationMs * 0.7),
      // A calm world shows that requests succeed; the requests are the same.
      changes: chance(random, 0.7),
    },
  )
  // Each from a random stream of its own, so that later additions do not change earlier draws.
  const dependent = withDependents(deriveRandom(seed, 'dependents'), drawn)
  // A calm caller requests only features that any sender has.
  const items = calm ? dependent : drawMore(seed, dependent)
  const neighbour = calm ? undefined : drawNeighbour(deriveRandom(seed, 'neighbour'), items)
  const plan: Plan = {
    seed,
    ...chain,
    blockTimeMs: drawBlockTimeMs(random, kind),
    pendingHash: pick(random, ['partial', 'zero', 'null']),
    baseFeeNoise: pick(random, [0, 0, 0.1]),
    pool: calm
      ? {}
      : { ...drawPool(deriveRandom(seed, 'pool')), ...drawLocals(deriveRandom(seed, 'locals')) },
    lossDepth,
    finality: undefined,
    safeDepth,
    initialNonce: pick(random, [0, 5, 1_000]),
    ports,
    broadcast: 'first',
    faultyStart: !calm && chance(random, 0.2),
    signer: drawSigner(random, calm),
    store: drawStore(random, calm),
    earlier: !calm && chance(random, 0.1) ? between(random, 1, 3) : 0,
    items,
    neighbour,
    disturbances: calm
      ? []
      : [
          ...drawDisturbances(deriveRandom(seed, 'disturbances'), {
            durationMs,
            reorgDepthMax: reorgDepthMax(kind, lossDepth, { safeDepth, deep }),
            flashblocks: rules === 'base',
            ports: ports.length,
            processes: neighbour === undefined ? 1 : 2,
          }),
          ...drawStrandings(deriveRandom(seed, 'strandings'), durationMs),
          ...drawWallSteps(deriveRandom(seed, 'wall steps'), durationMs),
          ...drawTipFloors(deriveRandom(seed, 'tip floors'), durationMs),
          ...(kind === 'fastBlocks'
            ? drawStalls(deriveRandom(seed, 'stalls'), {
                sentAtMs: items.map(({ atMs }) => atMs),
                depth: reorgDepthMax(kind, lossDepth, { safeDepth, deep }),
              }).filter(({ atMs }) => atMs < durationMs)
            : []),
        ],
    durationMs: Math.max(durationMs, ...[...items, ...(neighbour?.twins ?? [])].map(({ atMs }) => atMs)),
  }
  const several = drawEndpoints(deriveRandom(seed, 'endpoints'), plan, calm)
  const faulty = calm ? several : withTimedFaults(seed, several)
  const tagged = tags === 'blocks' && kind !== 'fastBlocks' ? faulty : withTags(seed, faulty, calm)
  const isSized = options.transactions !== undefined
  const whole = sockets ? withSockets(seed, tagged, { calm, isSized }) : tagged
  return options.keep === undefined ? whole : keepOnly(whole, options.keep)
}

/** If an endpoint lies or is on another chain, another one has to be correct. */
function withTimedFaults(seed: number, plan: Plan): Plan {
  if (plan.ports.some(({ lies, stray }) => lies || stray)) return plan
  const timed = (index: number) => drawTimedFaults(deriveRandom(seed, `timed ${index}`), plan.durationMs)
  return { ...plan, ports: plan.ports.map((port, index) => ({ ...port, timed: timed(index) })) }
}

/** The blocks whose state every node serves: geth keeps as many layers of it in memory. */
const LAYERS = 128

/** The tags of the endpoints, and the callers that wait for them. */
function withTags(seed: number, plan: Plan, calm: boolean): Plan {
  const { kind, lossDepth, items } = plan
  const isFast = kind === 'fastBlocks'
  const ports = drawTags(deriveRandom(seed, 'tags'), plan.ports, { lossDepth, always: isFast })
  if (ports.some(({ tags }) => tags === undefined)) return plan
  return {
    ...plan,
    ports: ports.map(({ prunedBlocks, ...port }) => ({
      ...port,
      prunedBlocks: prunedBlocks && isFast ? Math.max(prunedBlocks, LAYERS) : prunedBlocks,
    })),
    finality: drawFinality(deriveRandom(seed, 'finality'), ports),
    // A calm caller requests only features that any sender has.
    items: calm ? items : drawTagWaits(deriveRandom(seed, 'tag waits'), items),
  }
}

/** Announced heads, and sends that are answered with their receipt. */
function withSockets(
  seed: number,
  plan: Plan,
  { calm, isSized }: { readonly calm: boolean; readonly isSized: boolean },
): Plan {
  const { durationMs } = plan
  const sentAtMs = plan.items.map(({ atMs }) => atMs)
  const ports = plan.ports.map((port, index) => ({
    ...port,
    push: drawPush(deriveRandom(seed, `push ${index}`), { calm, durationMs, sentAtMs }),
    syncSends: drawSyncSends(deriveRandom(seed, `sync ${index}`), calm),
  }))
  // A calm caller requests only features that any sender has.
  if (calm) return { ...plan, ports }
  const callers = drawSyncCallers(deriveRandom(seed, 'sync callers'), plan.items)
  const hasSeries = !isSized && ports.some(({ role, syncSends }) => role !== 'send' && syncSends)
  const series = hasSeries
    ? drawSyncSeries(deriveRandom(seed, 'sync series'), plan.items, plan.blockTimeMs)
    : []
  const items = [...callers, ...series]
  return { ...plan, ports, items, durationMs: Math.max(durationMs, ...items.map(({ atMs }) => atMs)) }
}

function drawMore(seed: number, items: readonly Item[]): Item[] {
  const authorizing = drawAuthorizations(deriveRandom(seed, 'authorizations'), items)
  const sequences = drawSequences(deriveRandom(seed, 'sequences'), authorizing)
  return drawOffers(deriveRandom(seed, 'offers'), sequences)
}

/** More endpoints, of more kinds. A lying one is never alone, because a starting process could not notice. */
function drawEndpoints(random: Random, plan: Plan, calm: boolean): Plan {
  if (!chance(random, 0.4)) return plan
  const { safeDepth, durationMs, items } = plan
  const roles: EndpointRole[] = ['both', 'both', 'send', 'send', 'read']
  const ports = [...plan.ports]
  for (let more = between(random, 1, 3 - ports.length); more > 0; more--)
    ports.push(drawPort(random, calm, safeDepth, pick(random, roles)))
  const restarts = plan.disturbances.some(({ kind }) => kind === 'crash' || kind === 'stop')
  const steady = !calm && !plan.faultyStart && plan.neighbour === undefined && !restarts
  const kind = steady ? pick(random, ['lies', 'stray', 'stray']) : 'none'
  // The first endpoint is read from the start, so it may only stray.
  const odd = between(random, kind === 'lies' ? 1 : 0, ports.length - 1)
  const fromMs = between(random, 500, Math.floor(durationMs / 2))
  const stray = { fromMs, toMs: fromMs + between(random, 2_000, 20_000) }
  return {
    ...plan,
    ports: ports.map((port, index) => {
      if (index !== odd || kind === 'none') return port
      return kind === 'lies' ? { ...port, lies: true } : { ...port, stray }
    }),
    broadcast: pick(random, ['first', 'all']),
    // A calm caller requests only features that any sender has.
    items:
      !calm && ports.some(({ role }) => role === 'send')
        ? items.map((item) => ({ ...item, private: mayBePrivate(item) && chance(random, 0.4) }))
        : items,
  }
}

/** Private transactions need a given gas, because an estimate would reveal them to a read endpoint. */
function mayBePrivate({ gas, outside, sequence }: Item): boolean {
  return gas !== undefined && outside === undefined && sequence === undefined
}

/** A second process sends no transaction that its caller may end, because it would not know about the end. */
function drawNeighbour(random: Random, items: readonly Item[]): Neighbour | undefined {
  if (!chance(random, 0.25)) return undefined
  // One process may refuse or give up a transaction that the other still sends with the same id: after a
  // deadline, an abort, or an unknown predecessor. Such an error concerns only the call, and says nothing
  // about the id.
  const plain = items.filter(
    ({ outside, oversized, expiresInMs, abortAfterMs, after, sequence }) =>
      outside === undefined &&
      sequence === undefined &&
      !oversized &&
      expiresInMs === undefined &&
      abortAfterMs === undefined &&
      after === undefined,
  )
  const twins = plain
    .filter(() => chance(random, 0.5))
    .map(({ marker, atMs }) => ({ marker, atMs: Math.max(0, atMs + pick(random, [-300, 0, 0, 200, 2_000])) }))
  return { twins, closesFirst: chance(random, 0.5) }
}

function drawSize(random: Random): (typeof SIZES)[number] {
  let left = random()
  for (const size of SIZES) {
    left -= size.share
    if (left < 0) return size
  }
  return SIZES[0]
}

/** Signatures may fail, be slow, or come after they were given up. */
function drawSigner(random: Random, calm: boolean): Plan['signer'] {
  return {
    failures: !calm && chance(random, 0.15) ? 0.1 : 0,
    delayMsMax: chance(random, 0.3)
      ? pick(random, [between(random, 1, 300), between(random, 1, 300), 15_000])
      : 0,
  }
}

function drawStore(random: Random, calm: boolean): StoreFaults {
  const delayMsMax = chance(random, 0.3) ? WORST_STORE.delayMsMax * random() : 0
  if (calm || !chance(random, 0.2)) return { ...NO_STORE_FAULTS, delayMsMax }
  return {
    delayMsMax,
    lostAnswer: WORST_STORE.lostAnswer * random(),
    lostCommit: WORST_STORE.lostCommit * random(),
  }
}

/**
 * The same world with fewer parts. The remaining parts behave as before, unless they depend on removed ones.
 */
function keepOnly(plan: Plan, { items, disturbances, faults }: Keep): Plan {
  const kept = (fault: string) => faults === undefined || faults.includes(fault)
  const only = <T extends object>(rates: T): T =>
    Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, kept(name) ? rate : 0])) as T
  return {
    ...plan,
    items: plan.items.filter(({ marker }) => items?.includes(marker) ?? true),
    disturbances: plan.disturbances.filter((_, index) => disturbances?.includes(index) ?? true),
    faultyStart: plan.faultyStart && kept('faultyStart'),
    neighbour: kept('neighbour') ? plan.neighbour : undefined,
    earlier: kept('earlier') ? plan.earlier : 0,
    signer: {
      failures: kept('signerFails') ? plan.signer.failures : 0,
      delayMsMax: kept('signerSlow') ? plan.signer.delayMsMax : 0,
    },
    store: only(plan.store),
    pool: Object.fromEntries(Object.entries(plan.pool).filter(([option]) => kept(option))),
    broadcast: kept('broadcastAll') ? plan.broadcast : 'first',
    ports: plan.ports.map((port) => ({
      ...port,
      lagMs: kept('lag') ? port.lagMs : 0,
      prunedBlocks: kept('pruned') ? port.prunedBlocks : undefined,
      lies: port.lies && kept('lies'),
      stray: kept('stray') ? port.stray : undefined,
      timed: port.timed.filter(({ name }) => kept(name)),
      push: kept('push') ? port.push : undefined,
      syncSends: kept('syncSends') ? port.syncSends : undefined,
      faults: only(port.faults),
    })),
  }
}

/** Every fault of a plan by name, as `keep` takes them. */
export function faultsOf(plan: Plan): string[] {
  const named = (rates: object) =>
    Object.entries(rates)
      .filter(([, rate]) => rate > 0)
      .map(([name]) => name)
  const all = [
    ...plan.ports.flatMap((port) => [
      ...named(port.faults),
      ...(port.lagMs > 0 ? ['lag'] : []),
      ...(port.prunedBlocks === undefined ? [] : ['pruned']),
      ...(port.lies ? ['lies'] : []),
      ...(port.stray === undefined ? [] : ['stray']),
      ...port.timed.map(({ name }) => name),
      ...socketFaultsOf(port),
    ]),
    ...named(plan.store),
    ...Object.keys(plan.pool),
    ...(plan.broadcast === 'all' ? ['broadcastAll'] : []),
    ...(plan.faultyStart ? ['faultyStart'] : []),
    ...(plan.neighbour === undefined ? [] : ['neighbour']),
    ...(plan.earlier > 0 ? ['earlier'] : []),
    ...(plan.signer.failures > 0 ? ['signerFails'] : []),
    ...(plan.signer.delayMsMax > 0 ? ['signerSlow'] : []),
  ]
  return [...new Set(all)]
}
