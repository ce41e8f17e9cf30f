import type { Scheduler } from 'fast-check'

/** Answers wait here until the schedule releases them, one at a time. */
export type Gates = {
  /** Resolves when the schedule decides; at once after `open`. */
  pass(label: string): Promise<void>
  /** Releases one. False if none waits. */
  one(): Promise<boolean>
  /** From now on no answer waits; those still waiting are released in the order of the schedule. */
  open(): Promise<void>
  readonly shut: boolean
}

/** Open until `shutNow`, so that a test can run its preparations without races. */
export function createGates(scheduler: Scheduler): Gates & { shutNow(): void } {
  let shut = false
  return {
    pass: (label) => (shut ? scheduler.schedule(Promise.resolve(), label) : Promise.resolve()),
    async one() {
      if (scheduler.count() === 0) return false
      await scheduler.waitOne()
      return true
    },
    async open() {
      shut = false
      while (scheduler.count() > 0) await scheduler.waitOne()
    },
    shutNow() {
      shut = true
    },
    get shut() {
      return shut
    },
  }
}

/** Returns the drawn values one after the other, and then the default forever. */
export type Draws<T> = { next(): T; stop(): void }

export function draws<T>(drawn: readonly T[], usual: T): Draws<T> {
  let index = 0
  let stopped = false
  return {
    next: () => (stopped ? usual : (drawn[index++] ?? usual)),
    stop() {
      stopped = true
    },
  }
}
