import type { Emit } from './laneSteps.js'
import { type Machine, struck, take } from './shell.js'
import { addAll, claimOf, type Scope, type World } from './world.js'

/** The operator states the truth. */
export function words(scope: Scope, machine: Machine, world: World, nonce: number, emit: Emit): void {
  const slot = world.slots[nonce]
  const use = deepUse(scope, world, nonce)
  if (use === undefined) return
  for (const claim of slot?.state === 'used' || slot?.state === 'live' ? slot.claims : []) {
    const fate = claimOf(use.hash) === claim ? 'executed' : 'notExecuted'
    const { world: next } = take(scope, machine, world, nonce, { type: 'resolve', claim, fate })
    emit(`the operator states that ${claim} was ${fate}`, next)
  }
}

/**
 * The operator checks the wrong place, or too early: the bytes of a transaction that did not execute may
 * still land. The statement is believed, so P4 and P5 do not hold for transactions that are bound to the
 * nonce.
 */
export function wrongWords(scope: Scope, machine: Machine, world: World, nonce: number, emit: Emit): void {
  const slot = world.slots[nonce]
  if (slot?.state !== 'used') return
  const use = deepUse(scope, world, nonce)
  const misled = { ...world, doubtful: addAll(world.doubtful, slot.claims) }
  for (const claim of slot.claims) {
    for (const fate of ['executed', 'notExecuted'] as const) {
      const isTrue = use !== undefined && (claimOf(use.hash) === claim) === (fate === 'executed')
      if (isTrue) continue
      const said = struck(scope, machine, misled, 'wrongWord', nonce, { type: 'resolve', claim, fate })
      if (said !== misled) emit(`the operator errs, and states that ${claim} was ${fate}`, said)
    }
  }
}

const deepUse = (scope: Scope, world: World, nonce: number) => {
  const use = world.chain[nonce]
  return use !== undefined && use.depth >= scope.lossDepth ? use : undefined
}
