import type { Clock } from '../platform/clock.js'
import type { HoldReason } from '../types/index.js'

type Since = { readonly detail: string | undefined; readonly sinceMs: number }

export type StandingHold = Since & { readonly reason: HoldReason }

/**
 * The only state of a lane: the reasons for which it reserves nothing for now. It reserves if there is no
 * reason. Repair continues in any case.
 */
export type Holds = {
  has(reason: HoldReason): boolean
  readonly any: boolean
  list(): HoldReason[]
  /** The sentence that was given with each reason: the observation, and how the hold is lifted. */
  details(): Partial<Record<HoldReason, string>>
  /** All holds with their details. `sinceMs` is the wall time at which the hold began. */
  standing(): readonly StandingHold[]
  /**
   * Idempotent: listeners are notified of a change only. A later detail replaces the former one without an
   * event.
   */
  add(reason: HoldReason, detail?: string): void
  lift(reason: HoldReason): void
}

/** Holds that only an operator's `resume()` lifts: no rule covers the observed situation. */
export const liftedByResume: readonly HoldReason[] = [
  'paused',
  'jump',
  'deepReorg',
  'storeBehindChain',
  'rebound',
]

export function createHolds(
  clock: Pick<Clock, 'wallNow'>,
  onChange: (reason: HoldReason, held: boolean, detail?: string) => void,
): Holds {
  const reasons = new Map<HoldReason, Since>()
  return {
    has: (reason) => reasons.has(reason),
    get any() {
      return reasons.size > 0
    },
    list: () => [...reasons.keys()],
    details() {
      const given = [...reasons].flatMap(([reason, { detail }]) =>
        detail === undefined ? [] : [[reason, detail]],
      )
      return Object.fromEntries(given)
    },
    standing: () => [...reasons].map(([reason, since]) => ({ reason, ...since })),
    add(reason, detail) {
      const standing = reasons.get(reason)
      const isNew = standing === undefined
      if (isNew || detail !== undefined)
        reasons.set(reason, { detail, sinceMs: standing?.sinceMs ?? clock.wallNow() })
      if (isNew) onChange(reason, true, detail)
    },
    lift(reason) {
      if (reasons.delete(reason)) onChange(reason, false)
    },
  }
}
