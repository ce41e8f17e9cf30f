import { type Clock, nextTurn } from './clock.js'

/**
 * Divides the long work of a process into parts, between which the event loop turns, so that a burst of thousands does not
 * delay the timers of the caller. All kinds of such work share each turn.
 */
export type Turns = {
  /** This turn has had its share of long work: the rest awaits `room()`. */
  isSpent(): boolean
  /** Resolves in the first turn that has a share left, which may be this one. */
  room(): Promise<void>
  /** Resolves in the next turn, in the order of the calls. */
  next(): Promise<void>
  /** Calls `each` for all items. Returns undefined if all were done before the share of this turn was spent. */
  each<T>(items: readonly T[], each: (item: T) => void): Promise<void> | undefined
}

/** Some tens of signatures take this time. Their journal writes and requests take as much again. */
const WORK_MS = 2

export function createTurns(clock: Pick<Clock, 'now' | 'setTimer'>): Turns {
  let begunAtMs: number | undefined
  let over = Promise.resolve()

  /** The first use of a turn begins it. */
  function begunAt(): number {
    if (begunAtMs !== undefined) return begunAtMs
    begunAtMs = clock.now()
    over = nextTurn(clock).then(() => {
      begunAtMs = undefined
    })
    return begunAtMs
  }

  function isSpent(): boolean {
    const sinceMs = begunAt()
    return clock.now() - sinceMs >= WORK_MS
  }

  function next(): Promise<void> {
    begunAt()
    return over
  }

  async function room(): Promise<void> {
    while (isSpent()) await next()
  }

  async function rest<T>(items: readonly T[], from: number, each: (item: T) => void): Promise<void> {
    for (let index = from; index < items.length; index++) {
      if (isSpent()) await room()
      each(items[index] as T)
    }
  }

  return {
    isSpent,
    room,
    next,
    each<T>(items: readonly T[], each: (item: T) => void) {
      for (let index = 0; index < items.length; index++) {
        if (isSpent()) return rest(items, index, each)
        each(items[index] as T)
      }
      return undefined
    },
  }
}
