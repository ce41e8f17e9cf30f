import type { Random } from '../../src/platform/clock.js'
import type { EndpointRole } from '../../src/rpc/port.js'
import type { Tags } from './chain/tags.js'
import { type Faults, NO_FAULTS } from './port/faults.js'
import type { NamedFault } from './port/timedFault.js'
import { between, chance, pick } from './random.js'
import type { PushPlan, SyncPlan } from './socketPlan.js'

export type PortPlan = {
  readonly role: EndpointRole
  readonly latencyMs: { readonly min: number; readonly max: number }
  readonly lagMs: number
  readonly faults: Faults
  readonly forbidden: readonly string[]
  /** How many blocks back it answers counts; undefined for all. */
  readonly prunedBlocks: number | undefined
  /** It invents blocks and counts, and drops all transactions. */
  readonly lies: boolean
  /** It answers for another chain during this time. */
  readonly stray: { readonly fromMs: number; readonly toMs: number } | undefined
  /** The answers for the tags; undefined for a distance in blocks. */
  readonly tags: Tags | undefined
  /** Its wrong answers, each for a time. */
  readonly timed: readonly NamedFault[]
  /** How it announces heads; undefined if it does not. */
  readonly push: PushPlan | undefined
  /** How it answers `eth_sendRawTransactionSync`; undefined if it does not have it. */
  readonly syncSends: SyncPlan | undefined
}

// The maximum of each fault in a world that is not healed.
export const WORST: Faults = {
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
  moody: 0.15,
}

export function drawPorts(random: Random, calm: boolean, safeDepth: number): PortPlan[] {
  const first = drawPort(random, calm, safeDepth, 'both')
  if (!chance(random, 0.3)) return [first]
  return [first, drawPort(random, calm, safeDepth, pick<EndpointRole>(random, ['both', 'send', 'read']))]
}

export function drawPort(random: Random, calm: boolean, safeDepth: number, role: EndpointRole): PortPlan {
  const min = between(random, 1, 60)
  return {
    role,
    latencyMs: { min, max: min + between(random, 1, calm ? 20 : 150) },
    lagMs: !calm && chance(random, 0.25) ? between(random, 100, 5_000) : 0,
    faults: calm ? NO_FAULTS : drawFaults(random),
    forbidden: chance(random, 0.2) ? ['eth_getBlockReceipts'] : [],
    // The history that a verdict needs is there: with less, a sender needs its operator.
    prunedBlocks: !calm && chance(random, 0.15) ? safeDepth + between(random, 1, 3) : undefined,
    lies: false,
    stray: undefined,
    tags: undefined,
    timed: [],
    push: undefined,
    syncSends: undefined,
  }
}

/** Few faults at a time, so that their effects can be distinguished; sometimes all of them. */
function drawFaults(random: Random): Faults {
  const share = pick(random, [0, 0.2, 0.4, 1])
  const drawn = { ...WORST }
  for (const name of Object.keys(WORST) as (keyof Faults)[]) {
    drawn[name] = chance(random, share) ? WORST[name] * random() : 0
  }
  return drawn
}
