import fc from 'fast-check'
import type { Violation } from './oracle.js'
import { drawPlan, faultsOf, type Keep, type PlanOptions } from './plan.js'
import type { CreateSubject } from './subjectTypes.js'
import { runWorld } from './world.js'

export type Shrunk = { readonly keep: Required<Keep>; readonly violations: readonly Violation[] }

// Each step runs a world; the last ones seldom leave anything out.
const WORLDS_MAX = 400
// A world that never comes to rest runs through its whole time of healing, each time anew: what is small by then stands.
const SHRINK_MS_MAX = 120_000

/**
 * The least of a failing world that still fails: fewer transactions, disturbances and faults. Undefined where the
 * seed does not fail.
 */
export async function shrink(
  seed: number,
  createSubject: CreateSubject,
  options: PlanOptions,
): Promise<Shrunk | undefined> {
  const plan = drawPlan(seed, options)
  const whole: Required<Keep> = {
    items: plan.items.map(({ marker }) => marker),
    disturbances: plan.disturbances.map((_, index) => index),
    faults: faultsOf(plan),
  }
  let smallest: Shrunk | undefined
  let worlds = 0
  const beganMs = performance.now()
  const fails = async (keep: Required<Keep>) => {
    if (worlds++ >= WORLDS_MAX || performance.now() - beganMs > SHRINK_MS_MAX) return true
    const { violations } = await runWorld(seed, createSubject, { ...options, keep })
    if (violations.length > 0) smallest = { keep, violations }
    return violations.length === 0
  }
  const part = fc.record({
    items: fc.subarray([...whole.items]),
    disturbances: fc.subarray([...whole.disturbances]),
    faults: fc.subarray([...whole.faults]),
  })
  // The seed has been drawn already: fast-check is here for what it knows of making things smaller.
  await fc.check(fc.asyncProperty(part, fails), { examples: [[{ ...whole } as never]], numRuns: 1 })
  return smallest
}
