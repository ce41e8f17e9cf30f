import fc from 'fast-check'
import type { Violation } from './oracle.js'
import { drawPlan, faultsOf, type Keep, type PlanOptions } from './plan.js'
import type { CreateSubject } from './subjectTypes.js'
import { runWorld } from './world.js'

export type Shrunk = { readonly keep: Required<Keep>; readonly violations: readonly Violation[] }

// Each step runs a world; the last ones seldom remove anything.
const WORLDS_MAX = 400
// Time limit: a world that never heals uses its whole time in each run. The smallest result by then is
// returned.
const SHRINK_MS_MAX = 120_000

/**
 * The smallest part of a failing world that still fails: fewer transactions, disturbances and faults.
 * Undefined if the seed does not fail.
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
  // The seed is drawn already; fast-check is used only for shrinking.
  await fc.check(fc.asyncProperty(part, fails), { examples: [[{ ...whole } as never]], numRuns: 1 })
  return smallest
}
