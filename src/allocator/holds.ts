import type { HoldReason } from '../types.js'

/** The only state of a lane: why it reserves nothing for now. Empty, it reserves. Repair goes on regardless. */
export type Holds = {
  has(reason: HoldReason): boolean
  readonly any: boolean
  list(): HoldReason[]
  /** The sentence that was given with each reason: what was read, and what lifts the hold. */
  details(): Partial<Record<HoldReason, string>>
  /** Idempotent: listeners are notified of a change only. A later detail replaces the former one without an event. */
  add(reason: HoldReason, detail?: string): void
  lift(reason: HoldReason): void
}

/** Holds that only an operator's `resume()` lifts: something was seen that no rule covers. */
export const liftedByResume: readonly HoldReason[] = [
  'paused',
  'jump',
  'deepReorg',
  'storeBehindChain',
  'rebound',
]

export function createHolds(onChange: (reason: HoldReason, held: boolean, detail?: string) => void): Holds {
  const reasons = new Map<HoldReason, string | undefined>()
  return {
    has: (reason) => reasons.has(reason),
    get any() {
      return reasons.size > 0
    },
    list: () => [...reasons.keys()],
    details() {
      const given = [...reasons].filter(([, detail]) => detail !== undefined)
      return Object.fromEntries(given)
    },
    add(reason, detail) {
      const isNew = !reasons.has(reason)
      if (isNew || detail !== undefined) reasons.set(reason, detail)
      if (isNew) onChange(reason, true, detail)
    },
    lift(reason) {
      if (reasons.delete(reason)) onChange(reason, false)
    },
  }
}
