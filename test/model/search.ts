import { type Column, createColumn, createStateSet, type StateSet } from './stateSet.js'
import { Violation } from './violation.js'

/** A system to search: its first state, its possible steps, and its promises. */
export type System<S> = {
  readonly begin: S
  /** Reports all possible next states. */
  steps(state: S, report: (name: string, next: S) => void): void
  /** Throws a `Violation` if a promise is broken; so may `steps`. */
  check(state: S): void
  /** The one step of a world without further faults; undefined if there is nothing left to do. */
  heal(state: S): S | undefined
  /** The reason why a world with nothing left to do has not reached its end; undefined if it has. */
  unfinished(state: S): Violation | undefined
  /**
   * States that must be distinguished differ in their words. Unpacking returns any state with these words.
   */
  readonly width: number
  pack(state: S, into: Uint32Array): void
  unpack(words: Uint32Array): S
}

export type Broken = { readonly promise: string; readonly text: string; readonly trace: readonly string[] }

export type Found = {
  readonly states: number
  readonly steps: number
  /**
   * All states fewer steps than this from the start were checked. Without a cut, this is the depth of the
   * furthest state.
   */
  readonly depth: number
  /**
   * The limit was reached before the fixed point. Each state found is still followed to its end, or
   * reported.
   */
  readonly cut: boolean
  readonly violation?: Broken
}

export type SearchOptions = {
  /** No more states are expanded once there are this many. */
  readonly statesMax?: number | undefined
  readonly onDepth?: (depth: number, states: number) => void
}

/**
 * Breadth first over all steps, so the first violation found is one of the nearest. Then each state is
 * followed through a healed world, which has to reach its end.
 */
export function search<S>(system: System<S>, options: SearchOptions = {}): Found {
  const { statesMax = Number.POSITIVE_INFINITY, onDepth } = options
  const walk = createWalk(system)
  let depth = 0
  let id = 0
  let cut = false
  const found = (): Found => ({ states: walk.states.size, steps: walk.steps, depth, cut })
  try {
    walk.reach(-1, system.begin)
    // States are numbered as they are found, so the numbers are the queue, and each depth is a range of them.
    for (let level = 1; id < walk.states.size && !cut; id++) {
      if (id === level) {
        depth++
        level = walk.states.size
        onDepth?.(depth, level)
      }
      cut = walk.states.size >= statesMax
      if (!cut) walk.expand(id)
    }
    for (; id < walk.states.size; id++) walk.heal(id)
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return { ...found(), violation: brokenBy(error, walk.trace()) }
  }
  const endless = firstEndless(walk.healed, walk.states.size)
  if (endless === undefined) return found()
  const why = walk.endOf(endless) ?? new Violation('end', 'a healed world goes round in circles')
  return { ...found(), violation: brokenBy(why, walk.trace(endless)) }
}

const brokenBy = (error: Violation, trace: readonly string[]): Broken => ({
  promise: error.promise,
  text: error.message,
  trace,
})

const DONE = -1
const STUCK = -2

function createWalk<S>(system: System<S>) {
  const states: StateSet = createStateSet(system.width)
  const parents = createColumn()
  const healed = createColumn()
  const words = new Uint32Array(system.width)
  let steps = 0
  // The state in which a violation is found, or from which the violating step starts.
  let at = 0

  function reach(from: number, state: S): number {
    system.pack(state, words)
    const known = states.size
    const id = states.add(words)
    if (id < known) return id
    parents.set(id, from)
    at = id
    system.check(state)
    at = from
    return id
  }

  function load(id: number): S {
    states.read(id, words)
    at = id
    return system.unpack(words)
  }

  function healFrom(id: number, state: S): void {
    const next = system.heal(state)
    if (next !== undefined) healed.set(id, reach(id, next))
    else healed.set(id, system.unfinished(state) === undefined ? DONE : STUCK)
  }

  function expand(id: number): void {
    const state = load(id)
    system.steps(state, (_, next) => {
      steps++
      reach(id, next)
    })
    healFrom(id, state)
  }

  /** Names are not kept: the step is found again among the steps of the previous state. */
  function nameOf(from: number, to: number): string {
    const wanted = new Uint32Array(system.width)
    states.read(to, wanted)
    let found: string | undefined
    system.steps(load(from), (name, next) => {
      system.pack(next, words)
      if (words.every((word, index) => word === wanted[index])) found ??= name
    })
    return found ?? 'the world heals'
  }

  function trace(end = at): string[] {
    const reported: string[] = []
    for (let id = end; id > 0; id = parents.get(id)) reported.unshift(nameOf(parents.get(id), id))
    return reported
  }

  /** The point at which the healed world that began in a state stops, unless it reaches its end. */
  function endOf(start: number): Violation | undefined {
    let id = start
    for (let passed = 0; passed <= states.size; passed++) {
      const next = healed.get(id)
      if (next < 0) return system.unfinished(load(id))
      id = next
    }
    return undefined
  }

  return {
    states,
    healed,
    reach,
    expand,
    heal: (id: number) => healFrom(id, load(id)),
    trace,
    endOf,
    get steps() {
      return steps
    },
  }
}

const UNKNOWN = 0
const ON_PATH = 1
const ENDS = 2

/** The first state from which the healed steps go in a circle, or stop short of the end. */
function firstEndless(healed: Column, size: number): number | undefined {
  const marks = new Uint8Array(size)
  for (let start = 0; start < size; start++) {
    const path: number[] = []
    let at = start
    while (at >= 0 && marks[at] === UNKNOWN) {
      marks[at] = ON_PATH
      path.push(at)
      at = healed.get(at)
    }
    if (at === STUCK || marks[at] === ON_PATH) return start
    for (const passed of path) marks[passed] = ENDS
  }
  return undefined
}
