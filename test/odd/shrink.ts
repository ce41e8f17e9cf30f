import type { OddViolation } from './judge.js'
import { drawPlan, type Extra, type Keep, type PlanOptions } from './plan.js'
import { runOddWorld } from './world.js'

export type Shrunk = { readonly keep: Required<Keep>; readonly violations: readonly OddViolation[] }

// Time limit: a world that never recovers uses its whole time in each run. The smallest result by then is
// returned.
const SHRINK_MS_MAX = 60_000

/** The smallest set of faults, payments and extras of a failing world that breaks one of the same rules. */
export async function shrink(
  seed: number,
  options: PlanOptions,
  violations: readonly OddViolation[],
): Promise<Shrunk> {
  const rules = new Set(violations.map(({ rule }) => rule))
  const endMs = performance.now() + SHRINK_MS_MAX
  const plan = drawPlan(seed, { ...options, keep: undefined })
  let least: Shrunk = {
    violations,
    keep: {
      faults: plan.faults.map((_, index) => index),
      extras: ['steps', 'restart', 'foreign', 'rewind'] satisfies Extra[],
      items: plan.items.map(({ marker }) => marker),
    },
  }

  /** True if the world still breaks a rule with only this part. */
  async function stillFails(keep: Required<Keep>): Promise<boolean> {
    if (performance.now() > endMs) return false
    const result = await runOddWorld(drawPlan(seed, { ...options, keep }))
    const same = result.violations.filter(({ rule }) => rules.has(rule))
    if (same.length > 0) least = { keep, violations: result.violations }
    return same.length > 0
  }

  /** Removes as many of one part as possible: halves first, then one by one. */
  async function without(part: keyof Keep): Promise<void> {
    for (let size = Math.ceil(least.keep[part].length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let start = 0; start < least.keep[part].length; ) {
        const rest = least.keep[part].toSpliced(start, size)
        if (!(await stillFails({ ...least.keep, [part]: rest }))) start += size
      }
    }
  }

  for (const part of ['faults', 'extras', 'items'] as const) await without(part)
  return least
}
