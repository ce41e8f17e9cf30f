const MINUTE_MS = 60_000
/** The windows of a budget, in minutes. */
export const WINDOWS = { hour: 60, day: 24 * 60 } as const
export type Window = keyof typeof WINDOWS
const NAMES = Object.keys(WINDOWS) as readonly Window[]

/**
 * The spending in sliding windows, in wei. It is counted per minute, so that a day takes 1,441 numbers for
 * any number of transactions. A minute counts until all of it is older than the window.
 */
export type Spending = {
  /** Adds an amount. Returns the minute in which it counts, for `correct`. */
  add(wei: bigint, atMs: number): number
  /** Changes the amount of a minute. Does nothing if the minute has left all windows. */
  correct(minute: number, byWei: bigint): void
  in(window: Window, nowMs: number): bigint
  /** Forgets all spending. */
  clear(): void
}

export function createSpending(): Spending {
  const byMinute = new Map<number, bigint>()
  const totals: Record<Window, bigint> = { hour: 0n, day: 0n }
  let newest = Number.NEGATIVE_INFINITY

  const isIn = (window: Window, minute: number) => newest - minute <= WINDOWS[window]

  /** Runs once a minute: minutes that have left a window no longer count in it. */
  function slideTo(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS)
    if (minute <= newest) return
    newest = minute
    for (const name of NAMES) totals[name] = 0n
    for (const [at, wei] of byMinute) {
      if (!isIn('day', at)) byMinute.delete(at)
      else for (const name of NAMES) if (isIn(name, at)) totals[name] += wei
    }
  }

  function correct(minute: number, byWei: bigint): void {
    if (!isIn('day', minute)) return
    byMinute.set(minute, (byMinute.get(minute) ?? 0n) + byWei)
    for (const name of NAMES) if (isIn(name, minute)) totals[name] += byWei
  }

  return {
    add(wei, atMs) {
      slideTo(atMs)
      const minute = Math.floor(atMs / MINUTE_MS)
      correct(minute, wei)
      return minute
    },
    correct,
    in(window, nowMs) {
      slideTo(nowMs)
      return totals[window]
    },
    clear() {
      byMinute.clear()
      for (const name of NAMES) totals[name] = 0n
    },
  }
}

/** Milliseconds until the windows slide by a minute. */
export const untilNextMinute = (nowMs: number): number => MINUTE_MS - (nowMs % MINUTE_MS)
