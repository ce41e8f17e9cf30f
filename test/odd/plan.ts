import type { Random } from '../../src/platform/clock.js'
import { GAS, type Item } from '../sim/items.js'
import { endOf, nameOfFault } from '../sim/port/timedFault.js'
import { between, chance, deriveRandom, pick } from '../sim/random.js'
import { CHAIN_KINDS, type ChainName } from './chainKinds.js'
import { drawFaults, waysNamed } from './drawFaults.js'
import type { Fault } from './faults.js'

/** All events of a world, drawn from its seed. It is plain data, so that parts of it can be left out. */
export type Plan = {
  readonly seed: number
  readonly chain: ChainName
  readonly endpoints: 1 | 2
  readonly faults: readonly Fault[]
  readonly items: readonly Item[]
  /** The account's first nonce. */
  readonly nonce: number
  /** Steps of the wall clock. */
  readonly steps: readonly { readonly atMs: number; readonly byMs: number }[]
  /** The process is killed, and started again on its store. */
  readonly restart: { readonly atMs: number; readonly downMs: number } | undefined
  /** The times at which another wallet with the key has a transaction in a block. */
  readonly foreign: readonly number[]
  /** The chain goes back by this many blocks, and its nodes forget the waiting transactions. */
  readonly rewind: { readonly atMs: number; readonly blocks: number } | undefined
  /** The lane is ready before the first payment and before any fault. */
  readonly readyFirst: boolean
}

/** The parts of a drawn plan to keep, by marker and by index. */
export type Keep = {
  readonly items?: readonly number[]
  readonly faults?: readonly number[]
  readonly extras?: readonly Extra[]
}

export type Extra = 'steps' | 'restart' | 'foreign' | 'rewind'

/** The marker of the payment that is sent when every endpoint is honest again. */
export const PROBE = 9_000

const SPAN_MS = 20_000
const REPLACED_FROM = 1_000
const STEPS_MS = [-3_600_000, -60_000, -5_000, 5_000, 60_000, 3_600_000]

export type PlanOptions = {
  readonly keep?: Keep | undefined
  /** Only faults whose names begin with this text. */
  readonly fault?: string | undefined
  /** The number of endpoints. @default as drawn */
  readonly endpoints?: 1 | 2 | undefined
  /** One of two endpoints never errs. @default as drawn */
  readonly honest?: boolean | undefined
}

export function drawPlan(seed: number, options: PlanOptions = {}): Plan {
  const { keep = {}, fault } = options
  const random = (part: string) => deriveRandom(seed, part)
  const shape = random('shape')
  const chain = pick(shape, Object.keys(CHAIN_KINDS) as ChainName[])
  const drawn = chance(shape, 0.4) ? 2 : 1
  const endpoints = options.honest ? 2 : (options.endpoints ?? drawn)
  const isHonest = drawn === 2 && chance(shape, 0.7)
  const honest = isHonest || options.honest ? between(shape, 0, 1) : undefined
  const restart = chance(shape, 0.15)
    ? { atMs: between(shape, 500, SPAN_MS), downMs: pick(shape, [10, 3_000]) }
    : undefined
  // A transaction of another wallet during a restart causes a hold by design (`storeBehindChain`).
  const foreign = restart === undefined && chance(shape, 0.1) ? [between(shape, 2_000, SPAN_MS)] : []
  const whole: Plan = {
    seed,
    chain,
    endpoints,
    faults: drawFaults(random('faults'), {
      endpoints,
      honest: endpoints === 2 ? honest : undefined,
      ways: fault === undefined ? undefined : waysNamed(fault),
    }),
    items: drawItems(random('items')),
    nonce: pick(shape, [0, 5, 700]),
    steps: chance(shape, 0.1) ? [{ atMs: between(shape, 0, SPAN_MS), byMs: pick(shape, STEPS_MS) }] : [],
    restart,
    foreign,
    rewind: undefined,
    readyFirst: chance(shape, 0.5),
  }
  return partOf(whole, keep)
}

function partOf(plan: Plan, { items, faults, extras }: Keep): Plan {
  const kept = (extra: Extra) => extras === undefined || extras.includes(extra)
  return {
    ...plan,
    items: plan.items.filter(({ marker }) => items?.includes(marker) ?? true),
    faults: plan.faults.filter((_, index) => faults?.includes(index) ?? true),
    steps: kept('steps') ? plan.steps : [],
    restart: kept('restart') ? plan.restart : undefined,
    foreign: kept('foreign') ? plan.foreign : [],
    rewind: kept('rewind') ? plan.rewind : undefined,
  }
}

/** True if there are two endpoints, and only one of them ever errs. */
export function isOneHonest({ endpoints, faults }: Plan): boolean {
  return endpoints === 2 && new Set(faults.map(({ endpoint }) => endpoint)).size < 2
}

/**
 * The sender distinguishes a chain that went back from a lag only after some periods; then an operator
 * checks it.
 */
const REWIND_SEEN_MS = 20_000

/** The time from which nothing goes wrong any more, and all but the last payment were sent. */
export function quietAt({ faults, items, steps, restart, foreign, rewind }: Plan): number {
  const sent = items.map(({ atMs, changes }) => atMs + Math.max(0, ...changes.map(({ afterMs }) => afterMs)))
  const restarted = restart === undefined ? 0 : restart.atMs + restart.downMs
  return Math.max(
    endOf(faults),
    restarted,
    rewind === undefined ? 0 : rewind.atMs + REWIND_SEEN_MS,
    ...sent,
    ...foreign,
    ...steps.map(({ atMs }) => atMs),
  )
}

/** Describes the faults of a world in one line. */
export function describe(plan: Plan): string {
  const faults = plan.faults.map(
    (fault) => `e${fault.endpoint} ${nameOfFault(fault)} from ${fault.fromMs} for ${fault.forMs} ms`,
  )
  const extras = [
    ...plan.steps.map(({ atMs, byMs }) => `clock ${byMs} ms at ${atMs}`),
    ...(plan.restart ? [`restart at ${plan.restart.atMs} after ${plan.restart.downMs} ms`] : []),
    ...(plan.rewind ? [`back by ${plan.rewind.blocks} blocks at ${plan.rewind.atMs}`] : []),
    ...plan.foreign.map((atMs) => `foreign at ${atMs}`),
  ]
  const where = `${plan.chain}, ${plan.endpoints} endpoints, nonce ${plan.nonce}`
  const when = plan.readyFirst ? 'ready first' : 'opened by the first payment'
  return [`${where}, ${plan.items.length} payments, ${when}`, ...faults, ...extras].join('; ')
}

/** A payment with default fields. */
export function payment(marker: number, atMs: number, change: Partial<Item> = {}): Item {
  return {
    marker,
    atMs,
    program: { kind: 'transfer', marker },
    gas: undefined,
    until: 'accepted',
    expiresInMs: undefined,
    onExpiry: 'cancel',
    abortAfterMs: undefined,
    stage: 'sealed',
    changes: [],
    outside: undefined,
    after: undefined,
    declaresEffect: false,
    oversized: false,
    ...change,
  }
}

function drawItems(random: Random): Item[] {
  const count = pick(random, [1, 2, 3, 5, 12, 20, 30])
  const burst = chance(random, 0.5)
  const given = pick(random, [0, 0.5, 1])
  const startMs = between(random, 0, 2_000)
  return Array.from({ length: count }, (_, index) => {
    const marker = index + 1
    const atMs = startMs + (burst ? 0 : between(random, 0, SPAN_MS))
    return payment(marker, atMs, {
      program: { kind: pick(random, ['transfer', 'call']), marker },
      ...(chance(random, given) ? { gas: GAS, ...(chance(random, 0.5) ? { offers: 'dear' } : {}) } : {}),
      until: pick(random, ['queued', 'accepted']),
      ...drawEnd(random, marker),
    })
  })
}

/** The caller's later action; most payments have none. */
function drawEnd(random: Random, marker: number): Partial<Item> {
  if (chance(random, 0.85)) return {}
  const action = pick(random, ['cancel', 'replace', 'speedUp', 'expire'] as const)
  if (action === 'expire') {
    return { expiresInMs: between(random, 1_000, 15_000), onExpiry: pick(random, ['cancel', 'leave']) }
  }
  return { changes: [{ action, afterMs: between(random, 0, 15_000), marker: REPLACED_FROM + marker }] }
}
