import type { Random } from '../../src/platform/clock.js'
import { type How, nameOfFault, type Target } from '../sim/port/timedFault.js'
import { between, chance, pick } from '../sim/random.js'
import type { Fault } from './faults.js'

const FAR = [1, 3, 5, 100, 1_000_000, 1_000_000_001] as const
const REFUSALS = [
  // geth internal/ethapi: while it builds its index, and for a pruned state (trie/errors.go).
  { code: -32000, message: 'transaction indexing is in progress' },
  { code: -32000, message: 'missing trie node b10c (path ) state is not available' },
  { code: -32000, message: 'header not found' },
  { code: -32603, message: 'internal error' },
  { code: -32601, message: 'the method does not exist/is not available' },
  { code: -32005, message: 'daily request count exceeded, request rate limited' },
  { code: -32000, message: 'the moon is in the wrong house' },
] as const

const off = (numbers: readonly number[]): How[] => numbers.map((by) => ({ kind: 'off', by }))
const HIGH = off(FAR)
const LOW = off(FAR.map((by) => -by))
const STALE: How[] = [1, 3, 10].map((blocks) => ({ kind: 'stale', blocks }))
const NULL: How = { kind: 'null' }
const BODIES: How[] = [{ kind: 'emptyBody' }, { kind: 'lackingBody' }]
const CONTRADICTORY: How = { kind: 'contradictory' }
const LATEST: How = { kind: 'blockIgnored', shows: 'latest' }
const PENDING: How = { kind: 'blockIgnored', shows: 'pending' }
const OTHER_BLOCK: How[] = [LATEST, PENDING, { kind: 'twoLater' }]
const HEADERS = [...HIGH, ...off([-1, -3, -5, -100]), ...STALE, NULL, CONTRADICTORY]

/** The possible wrong answers to each question, in addition to those possible for every question. */
const OWN: Readonly<Record<Target, readonly How[]>> = {
  countLatest: [...HIGH, ...LOW, ...STALE, NULL, CONTRADICTORY, PENDING],
  countPending: [...HIGH, ...LOW, ...STALE, NULL, CONTRADICTORY, LATEST],
  countAtNumber: [...HIGH, ...LOW, ...OTHER_BLOCK, NULL, CONTRADICTORY],
  countAtHash: [...HIGH, ...LOW, LATEST, PENDING, NULL, CONTRADICTORY],
  latestHeader: HEADERS,
  pendingHeader: [...HEADERS, ...BODIES],
  headerByNumber: [...HEADERS, ...OTHER_BLOCK, ...BODIES],
  bodyByNumber: [...HEADERS, ...OTHER_BLOCK, ...BODIES],
  blockByHash: [NULL, CONTRADICTORY, ...BODIES],
  receipt: [NULL, CONTRADICTORY],
  blockReceipts: [NULL, CONTRADICTORY, LATEST, { kind: 'twoLater' }],
  send: [],
  estimate: [...off([1_000_000_000, 1_000_000, -1_000_000_000]), NULL, CONTRADICTORY],
  fees: [...off([1_000_000_000, 1_000_000_000_000, -1_000_000_000]), NULL],
  balance: [...off([1_000_000_000]), { kind: 'off', by: -Number.MAX_SAFE_INTEGER }, ...STALE, NULL],
  code: [NULL, CONTRADICTORY],
  storage: [NULL],
  chainId: [...off([1]), NULL, CONTRADICTORY],
}

const EVERY: readonly How[] = [
  { kind: 'malformed' },
  ...[500, 2_000, 4_000, 9_000].map((ms): How => ({ kind: 'slow', ms })),
  { kind: 'neverAnswered' },
  ...REFUSALS.map((words): How => ({ kind: 'refused', ...words })),
  ...[undefined, 1, 10, 86_400].map((retryAfterS): How => ({ kind: 'tooMany', retryAfterS })),
  { kind: 'html' },
]

const TARGETS = Object.keys(OWN) as readonly Target[]

type Way = Pick<Fault, 'target' | 'how'>

/** Every kind of wrong answer whose name begins with this prefix. */
export function waysNamed(prefix: string): readonly Way[] {
  return TARGETS.flatMap((target) => [...OWN[target], ...EVERY].map((how) => ({ target, how }))).filter(
    (way) => nameOfFault(way).startsWith(prefix),
  )
}

/**
 * One to four faults. `honest` is the one of two endpoints that never errs. `ways` restricts the kinds of
 * fault.
 */
export function drawFaults(
  random: Random,
  options: {
    readonly endpoints: number
    readonly honest: number | undefined
    readonly ways?: readonly Way[] | undefined
  },
): Fault[] {
  const { endpoints, honest, ways } = options
  const count = pick(random, [1, 1, 1, 2, 2, 3, 4])
  return Array.from({ length: count }, () => ({
    ...(ways === undefined ? drawWay(random) : pick(random, ways)),
    fromMs: chance(random, 0.3) ? 0 : between(random, 500, 15_000),
    // A short fault strikes one or two readings.
    forMs: chance(random, 0.25) ? between(random, 200, 1_000) : between(random, 1_000, 30_000),
    endpoint: honest === undefined ? between(random, 0, endpoints - 1) : 1 - honest,
  }))
}

/** Each question is equally likely, regardless of its number of wrong answers. */
function drawWay(random: Random): Way {
  const target = pick(random, TARGETS)
  const own = OWN[target]
  return { target, how: pick(random, own.length > 0 && chance(random, 0.75) ? own : EVERY) }
}
