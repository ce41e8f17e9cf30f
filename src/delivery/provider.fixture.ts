import { type BudgetLimits, createRequestBudget } from './requestBudget.js'

/** The rate limit of an endpoint, and how it refuses excess calls. */
export type Provider = {
  readonly perSecond: number
  readonly counts: 'calls' | 'requests'
  /**
   * `whole`: a request that does not fit is refused as a whole. `calls`: its excess calls are refused one by
   * one.
   */
  readonly refuses: 'whole' | 'calls'
  /** `saved`: the unused allowance of a second is saved up and added to the next one. */
  readonly window: 'fixed' | 'sliding' | 'saved'
}

/** The duration of a request in milliseconds, unless a load specifies another. */
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

/** Returns how many of the calls are refused. */
export type Endpoint = (calls: number, nowMs: number) => number

type Load = {
  readonly amount: number
  readonly batch: number
  /** The numbers of calls of the first requests, if they are smaller. */
  readonly first?: readonly number[]
  readonly limits?: BudgetLimits
  readonly roundTripMs?: number
}

/**
 * Sends the given number of calls as fast as the budget allows, in requests of at most `batch`. A request
 * that was denied in part counts as that part.
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
