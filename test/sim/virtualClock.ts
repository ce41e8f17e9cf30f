import type { CancelTimer, Clock } from '../../src/platform/clock.js'

/**
 * A clock whose time passes only on request, and then as fast as the work allows. `now` and `wallNow` are
 * far apart, so that confusing them is noticed.
 */
export type VirtualClock = Clock & {
  /** Moves the wall clock by this many milliseconds, back if negative. Timers are unaffected. */
  stepWall(ms: number): void
  /**
   * A timer that settles no promise, directly or by its calls: nothing has to run after it before time goes
   * on. Most timers belong to the chain's own rhythm.
   */
  setQuietTimer(fn: () => void, delayMs: number): CancelTimer
  /** Runs every promise reaction that is or becomes ready, without moving time. */
  settle(): Promise<void>
  /** Moves time by `ms`, firing the timers on the way in order of time, then of setting. */
  advance(ms: number): Promise<void>
  /**
   * Fires timers until the predicate holds (checked after each, with all promises settled). False if `maxMs`
   * passed first, or if no timer is left that could change anything.
   */
  runUntil(predicate: () => boolean, maxMs: number): Promise<boolean>
  /** Fires timers until none is left. @throws if some are left after `maxMs` */
  run(maxMs?: number): Promise<void>
  /** Timers set, not fired and not cancelled. */
  readonly pendingTimers: number
  /** Timers fired since the clock was made. */
  readonly firedTimers: number
}

type Timer = {
  readonly at: number
  readonly order: number
  readonly quiet: boolean
  fn: (() => void) | undefined
}

// Far above 0, as `Clock` promises.
const START_MS = 10 ** 9
// A recent instant, so that timestamps look realistic.
const WALL_START_MS = 1_750_000_000_000
// Timers that set each other with no delay would hold time still forever.
const SAME_INSTANT_MAX = 100_000

/** Virtual time. Deterministic: the same program sets, fires and settles in the same order each time. */
export function createVirtualClock(startMs = START_MS): VirtualClock {
  const heap: Timer[] = []
  let now = startMs
  let wallAheadMs = WALL_START_MS - startMs
  let order = 0
  let pending = 0
  let fired = 0
  let atThisInstant = 0

  function set(fn: () => void, delayMs: number, quiet: boolean): CancelTimer {
    const timer: Timer = { at: now + Math.max(0, Math.round(delayMs) || 0), order: order++, quiet, fn }
    push(heap, timer)
    pending++
    return () => {
      if (timer.fn === undefined) return
      timer.fn = undefined
      pending--
    }
  }

  /** Fires the next timer that is due by `untilMs`; undefined if there is none. */
  function fire(untilMs: number): Timer | undefined {
    for (let top = heap[0]; top !== undefined && top.at <= untilMs; top = heap[0]) {
      pop(heap)
      const fn = top.fn
      if (fn === undefined) continue
      atThisInstant = top.at > now ? 0 : atThisInstant + 1
      if (atThisInstant > SAME_INSTANT_MAX) throw new Error(`time stands still at ${now - startMs} ms`)
      now = Math.max(now, top.at)
      top.fn = undefined
      pending--
      fired++
      fn()
      return top
    }
    return undefined
  }

  async function runUntil(predicate: () => boolean, maxMs: number): Promise<boolean> {
    const untilMs = now + maxMs
    await settle()
    while (!predicate()) {
      const timer = fire(untilMs)
      if (timer === undefined) {
        if (pending > 0) now = untilMs
        return false
      }
      if (!timer.quiet) await settle()
    }
    return true
  }

  async function advance(ms: number): Promise<void> {
    const untilMs = now + ms
    await runUntil(() => false, ms)
    now = untilMs
  }

  async function run(maxMs = Number.POSITIVE_INFINITY): Promise<void> {
    const done = await runUntil(() => pending === 0, maxMs)
    if (!done && pending > 0) throw new Error(`${pending} timers are left after ${maxMs} ms`)
  }

  return {
    now: () => now,
    wallNow: () => now + wallAheadMs,
    stepWall(ms) {
      wallAheadMs += ms
    },
    setTimer: (fn, delayMs) => set(fn, delayMs, false),
    setQuietTimer: (fn, delayMs) => set(fn, delayMs, true),
    settle,
    advance,
    runUntil,
    run,
    get pendingTimers() {
      return pending
    },
    get firedTimers() {
      return fired
    },
  }
}

/**
 * Node runs its tick queue only when no promise reaction is left (lib/internal/process/task_queues.js), so
 * one tick requested from within a reaction drains them all, without a turn of the event loop and without
 * counting turns.
 */
function settle(): Promise<void> {
  return Promise.resolve().then(() => new Promise<void>((resolve) => process.nextTick(resolve)))
}

function before(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function push(heap: Timer[], timer: Timer): void {
  let index = heap.length
  while (index > 0) {
    const above = (index - 1) >> 1
    const parent = heap[above] as Timer
    if (!before(timer, parent)) break
    heap[index] = parent
    index = above
  }
  heap[index] = timer
}

function pop(heap: Timer[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let index = 0
  for (;;) {
    let below = 2 * index + 1
    if (below >= heap.length) break
    const right = heap[below + 1]
    if (right !== undefined && before(right, heap[below] as Timer)) below++
    const child = heap[below] as Timer
    if (!before(child, last)) break
    heap[index] = child
    index = below
  }
  heap[index] = last
}
