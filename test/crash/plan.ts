import { between, deriveRandom, pick, shuffle } from '../sim/random.js'
import { KINDS } from '../sweep/asks.js'
import type { Ask } from './asks.js'

/**
 * The points at which a process may end itself, and the highest pass of each point that a plan may name:
 * every life reaches it.
 * `before` and `after` surround a call of the store. `journal` is the write that holds new signed bytes;
 * `settle` is the write that records an end or a final confirmation. Both are a `write` as well. At `during`
 * the parent kills the process while the call is in progress. For a broadcast, `sent` is the moment at which
 * the system has taken all bytes of the request, and `answered` the moment at which the answer was read but
 * not yet processed.
 */
const POINTS = {
  'acquire:before': 1,
  'acquire:after': 1,
  'load:before': 1,
  'load:after': 1,
  'enqueue:before': 4,
  'enqueue:during': 4,
  'enqueue:after': 4,
  'journal:before': 5,
  'journal:after': 5,
  'broadcast:before': 4,
  'broadcast:sent': 4,
  'broadcast:answered': 4,
  'write:before': 10,
  'write:during': 10,
  'write:after': 10,
  'settle:before': 3,
  'settle:after': 3,
  'release:before': 1,
  'release:after': 1,
} as const satisfies Record<string, number>

export type Point = keyof typeof POINTS

export const POINT_NAMES = Object.keys(POINTS) as readonly Point[]

/** The planned end of one life. */
export type Kill = {
  /** Counted over the whole sweep. */
  readonly number: number
  readonly how:
    | { readonly at: 'point'; readonly point: Point; readonly pass: number }
    /** A moment independent of the work of the process, counted from when its code is loaded. */
    | { readonly at: 'random'; readonly afterMs: number }
  /**
   * If true, the next life waits until the lease of the dead process expires; otherwise the lease is expired
   * in the store.
   */
  readonly leaseRunsOut: boolean
  /** Set if a life that is to end in `close` closes in the middle of its work. */
  readonly closeAfterMs: number | undefined
}

/** The lives of one lane, and of one account. */
export type GroupPlan = { readonly number: number; readonly kills: readonly Kill[] }

export const GROUP_KILLS = 20

// One in this many kills waits out the ten seconds of a lease.
const RUNS_OUT_EVERY = 50
/** The number of random kills per named point. */
const RANDOM_SHARE = 3
const RANDOM_MS_MAX = 900

/**
 * Everything that a sweep draws depends only on the seed and the number of the kill, so a group can run
 * alone.
 */
export function planSweep(kills: number, seed: number): readonly GroupPlan[] {
  const all = Array.from({ length: kills }, (_, number) => killOf(number, seed))
  const groups: GroupPlan[] = []
  for (let at = 0; at < kills; at += GROUP_KILLS)
    groups.push({ number: groups.length, kills: all.slice(at, at + GROUP_KILLS) })
  return groups
}

function killOf(number: number, seed: number): Kill {
  const random = deriveRandom(seed, `kill ${number}`)
  const point = deckOf(Math.floor(number / DECK), seed)[number % DECK]
  const closes = point?.startsWith('release') === true
  return {
    number,
    how:
      point === undefined
        ? { at: 'random', afterMs: between(random, 0, RANDOM_MS_MAX) }
        : { at: 'point', point, pass: between(random, 1, POINTS[point]) },
    leaseRunsOut: number % RUNS_OUT_EVERY === RUNS_OUT_EVERY - 1,
    closeAfterMs: closes && random() < 0.5 ? between(random, 50, 500) : undefined,
  }
}

const DECK = POINT_NAMES.length + Math.ceil(POINT_NAMES.length / RANDOM_SHARE)

/** Each point once, with random kills between them, in a different order for each round. */
function deckOf(round: number, seed: number): readonly (Point | undefined)[] {
  const random = deriveRandom(seed, `round ${round}`)
  const deck: (Point | undefined)[] = [...POINT_NAMES]
  while (deck.length < DECK) deck.push(undefined)
  shuffle(random, deck)
  return deck
}

const ASKS_MIN = 4
const ASKS_MAX = 8

/** The new asks of the user in one life. */
export function asksOf(seed: number, group: number, life: number): readonly Ask[] {
  const random = deriveRandom(seed, `group ${group}, life ${life}`)
  return Array.from({ length: between(random, ASKS_MIN, ASKS_MAX) }, (_, index): Ask => {
    // The first ask is plain, so that every life journals and sends something.
    const kind = index === 0 ? 'plain' : pick(random, KINDS)
    return {
      id: `g${group}-l${life}-${index}-${kind}`,
      kind,
      until: random() < 0.5 ? 'queued' : 'accepted',
      delayMs: between(random, 0, 120),
      // Mostly zero: one flashblock later the transaction cannot be cancelled or replaced.
      actAfterMs: random() < 0.6 ? 0 : between(random, 1, 150),
      expiresAfterMs: between(random, 30, 600),
    }
  })
}
