import type { Clock } from '../platform/clock.js'
import type { HoldReason } from '../types/index.js'

type Since = { readonly detail: string | undefined; readonly sinceMs: number }

export type StandingHold = Since & { readonly reason: HoldReason }

/** The only state of a lane: why it reserves nothing for now. Empty, it reserves. Repair goes on regardless. */
export type Holds = {
  has(reason: HoldReason): boolean
  readonly any: boolean
  list(): HoldReason[]
  /** The sentence that was given with each reason: what was read, and what lifts the hold. */
  details(): Partial<Record<HoldReason, string>>
  /** All of each: `sinceMs` is the wall time since when it stands. */
  standing(): readonly StandingHold[]
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
