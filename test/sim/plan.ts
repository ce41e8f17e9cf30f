import type { Random } from '../../src/clock.js'
import type { EndpointRole } from '../../src/rpc/port.js'
import type { ChainRules } from './chain/options.js'
import { type Disturbance, drawDisturbances } from './disturbances.js'
import { type Faults, NO_FAULTS } from './port/faults.js'
import { between, chance, deriveRandom, pick } from './random.js'
import { drawWorkload, type Item } from './workload.js'

export type PortPlan = {
  readonly role: EndpointRole
  readonly latencyMs: { readonly min: number; readonly max: number }
  readonly lagMs: number
  readonly faults: Faults
  readonly forbidden: readonly string[]
}

/** Everything that will happen in a world, drawn from its seed before it begins. */
export type Plan = {
  readonly seed: number
  readonly rules: ChainRules
  readonly blockTimeMs: number
  readonly pendingHash: 'partial' | 'zero' | 'null'
  readonly baseFeeNoise: number
  readonly lossDepth: 'child' | 'safe' | number
  readonly safeDepth: number
  readonly initialNonce: number
  readonly ports: readonly PortPlan[]
  /** Faults are there before the sender is ready, not only after. */
  readonly faultyStart: boolean
  readonly signer: { readonly failures: number; readonly delayMsMax: number }
  readonly items: readonly Item[]
  readonly disturbances: readonly Disturbance[]
  /** When the world heals: no fault and no disturbance after it. */
  readonly durationMs: number
}

export type PlanOptions = {
  /** How many transactions, at least and at most. @default 10 to 20 */
  readonly transactions?: { readonly min: number; readonly max: number }
  /** @default 60_000 */
  readonly durationMs?: number
  /** Without faults and disturbances. @default false */
  readonly calm?: boolean
}

// The most of each fault that a world has, for as long as it is not healed.
const WORST: Faults = {
  lostRequest: 0.15,
  lostResponse: 0.15,
  late: 0.03,
  delay: 0.2,
  http429: 0.08,
  http503: 0.08,
  brokenBody: 0.03,
  torn: 0.15,
  staleRead: 0.15,
  rateLimited: 0.05,
  countBackwards: 0.15,
  poisonedCount: 0.02,
  malformed: 0.02,
  neverPooled: 0.15,
  swallowed: 0.6,
}

/** Draws a world. The same seed and options make the same plan. */
export function drawPlan(seed: number, options: PlanOptions = {}): Plan {
  const { calm = false, durationMs = 60_000, transactions = { min: 10, max: 20 } } = options
  const random = deriveRandom(seed, 'plan')
  const rules = pick<ChainRules>(random, ['base', 'base', 'base', 'geth', 'reth', 'latest'])
  const safeDepth = between(random, 3, 5)
  const lossDepth = drawLossDepth(random, rules)
  return {
    seed,
    rules,
    blockTimeMs: rules === 'base' ? 2_000 : pick(random, [1_000, 2_000, 4_000]),
    pendingHash: pick(random, ['partial', 'zero', 'null']),
    baseFeeNoise: pick(random, [0, 0, 0.1]),
    lossDepth,
    safeDepth,
    initialNonce: pick(random, [0, 5, 1_000]),
    ports: drawPorts(random, calm),
    faultyStart: !calm && chance(random, 0.2),
    signer: {
      failures: !calm && chance(random, 0.15) ? 0.1 : 0,
      delayMsMax: chance(random, 0.3) ? between(random, 1, 300) : 0,
    },
    items: drawWorkload(deriveRandom(seed, 'workload'), between(random, transactions.min, transactions.max), {
      spanMs: Math.floor(durationMs * 0.7),
      // A calm world shows that what is asked for happens; what is asked for is the same.
      changes: chance(random, 0.7),
    }),
    disturbances: calm
      ? []
      : drawDisturbances(deriveRandom(seed, 'disturbances'), {
          durationMs,
          reorgDepthMax: reorgDepthMax(lossDepth, safeDepth),
          flashblocks: rules === 'base',
        }),
    durationMs,
  }
}

function drawLossDepth(random: Random, rules: ChainRules): Plan['lossDepth'] {
  if (rules === 'base') return pick(random, ['child', 'child', 'child', 3])
  return pick(random, [2, 3, 'safe'])
}

/**
 * The deepest reorg that the promises hold for. One child proves a block, so with `child` only the child may go;
 * otherwise one block fewer than the depth.
 */
function reorgDepthMax(lossDepth: Plan['lossDepth'], safeDepth: number): number {
  if (lossDepth === 'child') return 1
  return (lossDepth === 'safe' ? safeDepth : lossDepth) - 1
}

function drawPorts(random: Random, calm: boolean): PortPlan[] {
  const first = drawPort(random, calm, 'both')
  if (!chance(random, 0.3)) return [first]
  return [first, drawPort(random, calm, pick<EndpointRole>(random, ['both', 'send', 'read']))]
}

function drawPort(random: Random, calm: boolean, role: EndpointRole): PortPlan {
  const min = between(random, 1, 60)
  return {
    role,
    latencyMs: { min, max: min + between(random, 1, calm ? 20 : 150) },
    lagMs: !calm && chance(random, 0.25) ? between(random, 100, 5_000) : 0,
    faults: calm ? NO_FAULTS : drawFaults(random),
    forbidden: chance(random, 0.2) ? ['eth_getBlockReceipts'] : [],
  }
}

/** Few faults at a time, so that what goes wrong can be told apart; now and then all of them. */
function drawFaults(random: Random): Faults {
  const share = pick(random, [0, 0.2, 0.4, 1])
  const drawn = { ...WORST }
  for (const name of Object.keys(WORST) as (keyof Faults)[]) {
    drawn[name] = chance(random, share) ? WORST[name] * random() : 0
  }
  return drawn
}
