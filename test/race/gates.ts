import type { Scheduler } from 'fast-check'

/** Where answers wait until the schedule lets them through, one at a time. */
export type Gates = {
  /** Resolves when the schedule says so; at once after `open`. */
  pass(label: string): Promise<void>
  /** Lets one through. False where none waits. */
  one(): Promise<boolean>
  /** From now on nobody waits; who does goes through in the order of the schedule. */
  open(): Promise<void>
  readonly shut: boolean
}

/** Not shut until `shutNow`: what is not to be raced runs through. */
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

/** Gives what was drawn, one after the other, and then the usual for ever. */
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
