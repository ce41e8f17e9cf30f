import type { HoldReason } from '../types.js'

/** The only state of a lane: why it reserves nothing for now. Empty, it reserves. Repair goes on regardless. */
export type Holds = {
  has(reason: HoldReason): boolean
  readonly any: boolean
  list(): HoldReason[]
  /** Idempotent; listeners hear of changes only. */
  add(reason: HoldReason): void
  lift(reason: HoldReason): void
}

/** Holds that only an operator's `resume()` lifts: something was seen that no rule covers. */
export const liftedByResume: readonly HoldReason[] = ['paused', 'jump', 'deepReorg', 'storeBehindChain']

export function createHolds(onChange: (reason: HoldReason, held: boolean) => void): Holds {
  const reasons = new Set<HoldReason>()
  return {
    has: (reason) => reasons.has(reason),
    get any() {
      return reasons.size > 0
    },
    list: () => [...reasons],
    add(reason) {
      if (reasons.has(reason)) return
      reasons.add(reason)
      onChange(reason, true)
    },
    lift(reason) {
      if (reasons.delete(reason)) onChange(reason, false)
    },
  }
}
