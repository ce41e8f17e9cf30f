import { type BudgetLimits, createRequestBudget } from './requestBudget.js'

/** What an endpoint lets through, and how it refuses the rest. */
export type Provider = {
  readonly perSecond: number
  readonly counts: 'calls' | 'requests'
  /** `whole`: a request that does not fit is refused as a whole. `calls`: its calls are refused one by one. */
  readonly refuses: 'whole' | 'calls'
  /** `saved`: what a second allows is saved up, and comes on top of the next one. */
  readonly window: 'fixed' | 'sliding' | 'saved'
}

/** Of a request, in milliseconds, unless a load says otherwise. */
export const ROUND_TRIP_MS = 50

export function createProvider({ perSecond, counts, refuses, window }: Provider): Endpoint {
  let taken: { atMs: number; units: number }[] = []
  let saved = perSecond
  let savedMs = 0

  function leftAt(nowMs: number): number {
    if (window === 'saved') {
      saved = Math.min(perSecond, saved + ((nowMs - savedMs) * perSecond) / 1_000)
      savedMs = nowMs
      return Math.floor(saved)
    }
    const since = window === 'fixed' ? Math.floor(nowMs / 1_000) * 1_000 : nowMs - 1_000 + 1
    taken = taken.filter(({ atMs }) => atMs >= since)
    return perSecond - taken.reduce((sum, { units }) => sum + units, 0)
  }

  function takeUp(units: number, nowMs: number): void {
    taken.push({ atMs: nowMs, units })
    saved -= units
  }

  return (calls: number, nowMs: number): number => {
    const left = leftAt(nowMs)
    const units = counts === 'requests' ? 1 : calls
    if (units <= left) {
      takeUp(units, nowMs)
      return 0
    }
    if (refuses === 'whole' || counts === 'requests') return calls
    takeUp(left, nowMs)
    return calls - left
  }
}

/** How many of so many calls it refuses. */
export type Endpoint = (calls: number, nowMs: number) => number

type Load = {
  readonly amount: number
  readonly batch: number
  /** Calls of the first requests, where they are smaller. */
  readonly first?: readonly number[]
  readonly limits?: BudgetLimits
  readonly roundTripMs?: number
}

/**
 * Sends so many calls as fast as the budget lets it, in requests of at most `batch`. Of a request that was denied in part
 * that part counts.
 */
export function saturate(
  take: Endpoint,
  { amount, batch, first = [], limits, roundTripMs = ROUND_TRIP_MS }: Load,
) {
  const budget = createRequestBudget(limits)
  const answers: { atMs: number; run: () => void }[] = []
  let waiting = amount
  let open = 0
  let ids = 0
  let requests = 0
  let denied = 0
  let nowMs = 0
  const ask = () => {
    if (waiting > 0 && open < 2) {
      open++
      budget.ask({ id: ++ids, priority: 'send', calls: Math.min(first[ids - 1] ?? batch, waiting) })
    }
  }
  ask()
  for (; waiting > 0 || open > 0; ) {
    const { granted, wakeAtMs } = budget.grants(nowMs)
    for (const { calls } of granted) {
      const size = Math.min(calls, waiting)
      waiting -= size
      requests++
      const sentAtMs = nowMs
      const refused = size === 0 ? 0 : take(size, nowMs)
      denied += refused / Math.max(1, size)
      answers.push({
        atMs: nowMs + roundTripMs,
        run: () => {
          open--
          waiting += refused
          budget.ended({ calls: size, denied: refused, sentAtMs, atMs: nowMs })
          ask()
        },
      })
      ask()
    }
    const next = Math.min(wakeAtMs ?? Number.POSITIVE_INFINITY, ...answers.map(({ atMs }) => atMs))
    if (next > 600_000) break
    nowMs = Math.max(nowMs, next)
    for (const answer of answers.filter(({ atMs }) => atMs <= nowMs)) {
      answers.splice(answers.indexOf(answer), 1)
      answer.run()
    }
    ask()
  }
  return { tookMs: nowMs, requests, denied, status: budget.status(nowMs) }
}
