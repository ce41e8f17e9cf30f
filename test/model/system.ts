import { chainSteps } from './chainSteps.js'
import { createCodec } from './codec.js'
import { eager, healedStep, unfinished } from './healed.js'
import { laneSteps } from './laneSteps.js'
import { createLateSteps } from './lateSteps.js'
import { checkPromises } from './promises.js'
import type { System } from './search.js'
import type { Machine } from './shell.js'
import { begin, type Scope, type World } from './world.js'

/** A lane and its chain within a scope, run by the shipped machine or a mutant. */
export function createSystem(scope: Scope, machine: Machine): System<World> {
  const lateSteps = createLateSteps(scope, machine)

  function steps(world: World, emit: (name: string, next: World) => void): void {
    const completed = (name: string, next: World) => {
      if (next !== world) emit(name, eager(scope, machine, next))
    }
    laneSteps(scope, machine, world, completed)
    chainSteps(scope, machine, world, completed)
    lateSteps(world, completed)
  }

  return {
    ...createCodec(scope),
    begin: eager(scope, machine, begin(scope)),
    steps,
    check: (world) => checkPromises(scope, machine, world),
    heal(world) {
      const next = healedStep(scope, machine, world)
      return next && eager(scope, machine, next)
    },
    unfinished,
  }
}
