import { chainSteps } from './chainSteps.js'
import { eager, healedStep, isDone } from './healed.js'
import { createNormalizer } from './key.js'
import { laneSteps } from './laneSteps.js'
import { checkPromises } from './promises.js'
import { type Machine, Violation } from './shell.js'
import { begin, type Scope, type World } from './world.js'

export type Found = {
  readonly states: number
  readonly steps: number
  /** How many steps from the start the furthest state is. */
  readonly depth: number
  /** The scope's bound was reached before the fixed point; whether all of it comes to an end was not looked at. */
  readonly cut: boolean
  readonly violation?: { readonly promise: string; readonly text: string; readonly trace: readonly string[] }
}

/**
 * Breadth first over everything that may happen in a scope: the first violation found is one of the shortest. When
 * none is found, each state is followed through a healed world, which has to come to an end.
 */
export function search(scope: Scope, machine: Machine): Found {
  const { normal, keyOf } = createNormalizer(scope)
  const known = new Map<string, number>()
  const parents: number[] = []
  const names: string[] = []
  const healed: number[] = []
  let next: { id: number; world: World }[] = []
  let steps = 0
  let depth = 0
  // The state that a violation is found in, or on the way from.
  let at = 0

  function reach(from: number, name: string, world: World): number {
    const reached = normal(eager(scope, machine, world))
    const key = keyOf(reached)
    const old = known.get(key)
    if (old !== undefined) return old
    const id = parents.length
    known.set(key, id)
    parents.push(from)
    names.push(name)
    at = id
    checkPromises(scope, reached)
    at = from
    next.push({ id, world: reached })
    return id
  }

  function expand(id: number, world: World): void {
    for (const successors of [laneSteps, chainSteps]) {
      for (const step of successors(scope, machine, world)) {
        if (step.world === world) continue
        steps++
        reach(id, step.name, step.world)
      }
    }
    const heals = healedStep(scope, machine, world)
    healed[id] = heals === undefined ? (isDone(world) ? DONE : STUCK) : reach(id, 'heal', heals)
  }

  function trace(id: number): string[] {
    const told: string[] = []
    for (let at = id; at > 0; at = parents[at] ?? 0) told.unshift(names[at] ?? '')
    return told
  }

  const told = (cut: boolean, violation?: Found['violation']): Found => {
    const found = { states: known.size, steps, depth, cut }
    return violation === undefined ? found : { ...found, violation }
  }

  try {
    reach(0, 'begin', begin(scope))
    for (; next.length > 0; depth++) {
      const frontier = next
      next = []
      for (const { id, world } of frontier) {
        if (known.size >= (scope.statesMax ?? Number.POSITIVE_INFINITY)) return told(true)
        at = id
        expand(id, world)
      }
    }
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return told(true, { promise: error.promise, text: error.message, trace: trace(at) })
  }
  const endless = firstEndless(healed)
  if (endless === undefined) return told(false)
  return told(false, { promise: 'end', text: 'a healed world comes to no end', trace: trace(endless) })
}

const DONE = -1
const STUCK = -2

/** The first state from which the healed steps go in a circle, or stop short of the end. */
function firstEndless(healed: readonly number[]): number | undefined {
  const ends = new Uint8Array(healed.length)
  for (let start = 0; start < healed.length; start++) {
    const path: number[] = []
    const onPath = new Set<number>()
    let at = start
    while (at >= 0 && ends[at] === 0) {
      if (onPath.has(at)) return start
      onPath.add(at)
      path.push(at)
      at = healed[at] ?? STUCK
    }
    if (at === STUCK) return start
    for (const passed of path) ends[passed] = 1
  }
  return undefined
}
