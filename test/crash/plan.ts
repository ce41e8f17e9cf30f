import { between, deriveRandom, pick, shuffle } from '../sim/random.js'
import { KINDS } from '../sweep/asks.js'
import type { Ask } from './asks.js'
import { POINT_NAMES, POINTS, type Point } from './points.js'

/** How one life is to end. */
export type Kill = {
  /** Counted over the whole sweep. */
  readonly number: number
  readonly how:
    | { readonly at: 'point'; readonly point: Point; readonly pass: number }
    /** At a moment that has nothing to do with what the process does, from when its code is loaded. */
    | { readonly at: 'random'; readonly afterMs: number }
  /** The dead process has its lane until the lease has run out; otherwise it is ended in the store. */
  readonly leaseRunsOut: boolean
  /** Whether a life that is to end in `close` closes in the middle of its work. */
  readonly closeAfterMs: number | undefined
}

/** The lives of one lane, and of one account. */
export type GroupPlan = { readonly number: number; readonly kills: readonly Kill[] }

export const GROUP_KILLS = 20

// One in so many waits out the ten seconds that a lease lasts.
const RUNS_OUT_EVERY = 50
/** As many kills at random as this, for each point that is named. */
const RANDOM_SHARE = 3
const RANDOM_MS_MAX = 900

/** Everything that a sweep draws depends on the seed and the number of the kill alone: a group can be run by itself. */
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

/** Each point once, and some kills at random between them, in an order of its own for each round. */
function deckOf(round: number, seed: number): readonly (Point | undefined)[] {
  const random = deriveRandom(seed, `round ${round}`)
  const deck: (Point | undefined)[] = [...POINT_NAMES]
  while (deck.length < DECK) deck.push(undefined)
  shuffle(random, deck)
  return deck
}

const ASKS_MIN = 4
const ASKS_MAX = 8

/** What the user begins to want in one life. */
export function asksOf(seed: number, group: number, life: number): readonly Ask[] {
  const random = deriveRandom(seed, `group ${group}, life ${life}`)
  return Array.from({ length: between(random, ASKS_MIN, ASKS_MAX) }, (_, index): Ask => {
    // The first is plain, so that every life has something to journal and to send.
    const kind = index === 0 ? 'plain' : pick(random, KINDS)
    return {
      id: `g${group}-l${life}-${index}-${kind}`,
      kind,
      until: random() < 0.5 ? 'queued' : 'accepted',
      delayMs: between(random, 0, 120),
      // At once, more often than not: a flashblock later there is nothing left to cancel or to replace.
      actAfterMs: random() < 0.6 ? 0 : between(random, 1, 150),
      expiresAfterMs: between(random, 30, 600),
    }
  })
}
