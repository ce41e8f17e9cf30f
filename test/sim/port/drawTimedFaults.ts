import type { Random } from '../../../src/platform/clock.js'
import { between, chance, pick } from '../random.js'
import type { How, Target, TimedFault } from './timedFault.js'

/** The wrong answers of an endpoint for a time, by name. Its other answers are true meanwhile. */
const TIMED = {
  /** Counts without any use behind them, from a bad backend behind a load balancer. */
  countAhead: {
    targets: ['countLatest', 'countPending', 'countAtNumber', 'countAtHash'],
    hows: off([1, 2, 3, 5, 100]),
  },
  /**
   * From a relay that answers so on purpose. No other count agrees with it, because a starting lane could
   * not notice otherwise.
   */
  pendingFarAhead: { targets: ['countPending'], hows: off([1_000_000, 1_000_000_001]) },
  countBehind: {
    targets: ['countLatest', 'countPending', 'countAtNumber', 'countAtHash'],
    hows: off([-1, -2, -3, -5, -100]),
  },
  /** The count at block N is that of N + 2. */
  countTwoLater: { targets: ['countAtNumber', 'countAtHash'], hows: [{ kind: 'twoLater' }] },
  countOfLatest: {
    targets: ['countPending', 'countAtNumber', 'countAtHash'],
    hows: [{ kind: 'blockIgnored', shows: 'latest' }],
  },
  countOfPending: {
    targets: ['countLatest', 'countAtNumber', 'countAtHash'],
    hows: [{ kind: 'blockIgnored', shows: 'pending' }],
  },
  /** The right hash and `gasUsed`, and no transactions: a header that was indexed before its body. */
  emptyBodies: {
    targets: ['headerByNumber', 'bodyByNumber', 'blockByHash'],
    hows: [{ kind: 'emptyBody' }],
  },
  lackingBodies: {
    targets: ['headerByNumber', 'bodyByNumber', 'blockByHash'],
    hows: [{ kind: 'lackingBody' }],
  },
  headAhead: { targets: ['latestHeader'], hows: off([1, 2, 5, 100, 1_000_000]) },
  headBehind: { targets: ['latestHeader'], hows: off([-1, -2, -5]) },
  missingReceipts: { targets: ['receipt', 'blockReceipts'], hows: [{ kind: 'null' }] },
} as const satisfies Record<string, { targets: readonly Target[]; hows: readonly How[] }>

export type TimedName = keyof typeof TIMED

/** One of these faults at one question. */
export type NamedFault = TimedFault & { readonly name: TimedName }

export const TIMED_NAMES = Object.keys(TIMED) as readonly TimedName[]
const FOR_MS_MAX = 15_000

/**
 * The name under which coverage counts each fault at each question. Two are rare and merged: a body is
 * requested by number only if its hash is unknown, and a count by hash only if a delegated account may have
 * used a nonce without a trace.
 */
export function strikeOf({ name, target }: Pick<NamedFault, 'name' | 'target'>): string {
  if (target === 'countAtHash') return target
  return `${name} ${target === 'bodyByNumber' ? 'blockByHash' : target}`
}

/** All names of `strikeOf`. */
export const TIMED_STRIKES: ReadonlySet<string> = new Set(
  TIMED_NAMES.flatMap((name) => TIMED[name].targets.map((target) => strikeOf({ name, target }))),
)

// Faults of bodies are weighted, because they rarely strike at the critical moment, when a witness is read a
// second time.
const DRAWN: readonly TimedName[] = [
  ...TIMED_NAMES,
  ...TIMED_NAMES.filter((name) => name.endsWith('Bodies')).flatMap((name) => [name, name]),
]

/** Faults of one endpoint, in some worlds; at one question only, or at all that its backend answers. */
export function drawTimedFaults(random: Random, durationMs: number): NamedFault[] {
  if (!chance(random, 0.3)) return []
  return Array.from({ length: pick(random, [1, 1, 2, 3]) }, () => {
    const name = pick(random, DRAWN)
    const targets: readonly Target[] = TIMED[name].targets
    const hows: readonly How[] = TIMED[name].hows
    const how = pick(random, hows)
    const fromMs = between(random, 0, Math.floor(durationMs * 0.8))
    const longest = Math.min(FOR_MS_MAX, durationMs)
    const forMs = chance(random, 0.3) ? between(random, 100, 1_000) : between(random, 1_000, longest)
    return (chance(random, 0.5) ? targets : [pick(random, targets)]).map((target) => ({
      name,
      target,
      how,
      fromMs,
      forMs,
    }))
  }).flat()
}

function off(numbers: readonly number[]): readonly How[] {
  return numbers.map((by) => ({ kind: 'off', by }))
}
