import { between, deriveRandom, shuffle } from '../sim/random.js'
import type { Ask } from './asks.js'

/** A fault of one process or of the database. */
export type Fault = {
  readonly kind: 'kill' | 'stop' | 'stop in a request' | 'close' | 'restart the database'
  /** Strikes the lane owner of this account. If undefined, any running process. */
  readonly holderOf: number | undefined
  readonly anyOf: number
  /** Milliseconds after the asks that are sent before it. */
  readonly afterMs: number
  /** Milliseconds until the process is started again or continued. */
  readonly backAfterMs: number
  /** If true, the next fault waits until other processes send from the lanes that were lost by this one. */
  readonly alone: boolean
}

// Longer than a lease: when the process wakes up, another one owns the lane.
const STOPPED_MS = { min: 11_000, max: 14_000 } as const
const OF_HOLDER = 0.8
const ALONE = 0.7

/** The faults of a run, in their order. For every two kills one process closes cleanly. */
export function planFaults(options: {
  readonly kills: number
  readonly stops: number
  readonly accounts: number
  /** True if the run may restart the database. */
  readonly database: boolean
  readonly seed: number
}): readonly Fault[] {
  const random = deriveRandom(options.seed, 'faults')
  const kinds: Fault['kind'][] = [
    ...Array.from({ length: options.kills }, () => 'kill' as const),
    ...Array.from({ length: options.stops }, (_, index) =>
      index === 0 ? ('stop in a request' as const) : ('stop' as const),
    ),
    ...Array.from({ length: Math.ceil(options.kills / 2) }, () => 'close' as const),
  ]
  shuffle(random, kinds)
  if (options.database && kinds.length > 0)
    kinds.splice(Math.ceil(kinds.length / 2), 0, 'restart the database')
  return kinds.map((kind) => ({
    kind,
    holderOf:
      kind === 'stop in a request' || random() < OF_HOLDER
        ? between(random, 0, options.accounts - 1)
        : undefined,
    anyOf: random(),
    afterMs: between(random, 0, 400),
    backAfterMs: kind.startsWith('stop')
      ? between(random, STOPPED_MS.min, STOPPED_MS.max)
      : between(random, 0, 2_000),
    alone: kind === 'restart the database' || random() < ALONE,
  }))
}

/** An ask and the processes that make it. Some ids are requested by two processes at once. */
export type Wanted = { readonly ask: Ask; readonly processes: readonly number[] }

const CANCELLED = 0.01
const REPLACED = 0.01

export function planAsks(options: {
  readonly transactions: number
  readonly processes: number
  readonly accounts: number
  readonly seed: number
  /** If true, all asks are plain. */
  readonly plain: boolean
  /** The share of ids that two processes request at once. */
  readonly twice: number
}): readonly Wanted[] {
  const random = deriveRandom(options.seed, 'asks')
  return Array.from({ length: options.transactions }, (_, index) => {
    const first = index % options.processes
    const second = (first + between(random, 1, options.processes - 1)) % options.processes
    const twice = random() < options.twice && options.processes > 1
    const lot = options.plain ? 1 : random()
    const kind = lot < CANCELLED ? 'cancel' : lot < CANCELLED + REPLACED ? 'replace' : 'plain'
    return {
      ask: { id: `s${options.seed}-${index}`, kind, account: between(random, 0, options.accounts - 1) },
      processes: twice ? [first, second] : [first],
    }
  })
}
