/** Virtual time: timers run in the order of their times, and in that of their creation at one time. */
export type VirtualTime = {
  readonly nowMs: number
  /** Returns a function that cancels the timer. */
  at(delayMs: number, run: () => void): () => void
  /** Runs until `isDone`. Returns false if that is not reached by `limitMs`. */
  run(isDone: () => boolean, limitMs: number): boolean
}

type Timer = { readonly atMs: number; readonly order: number; readonly run: () => void }

export function createVirtualTime(): VirtualTime {
  const timers: Timer[] = []
  let nowMs = 0
  let orders = 0
  return {
    get nowMs() {
      return nowMs
    },
    at(delayMs, run) {
      const timer = { atMs: nowMs + delayMs, order: orders++, run }
      timers.push(timer)
      return () => void timers.splice(0, timers.length, ...timers.filter((each) => each !== timer))
    },
    run(isDone, limitMs) {
      while (!isDone()) {
        let next = 0
        for (let index = 1; index < timers.length; index++)
          if (isSooner(timers[index], timers[next])) next = index
        const [timer] = timers.splice(next, 1)
        if (timer === undefined || timer.atMs > limitMs) return false
        nowMs = Math.max(nowMs, timer.atMs)
        timer.run()
      }
      return true
    },
  }
}

function isSooner(one: Timer | undefined, other: Timer | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
}
