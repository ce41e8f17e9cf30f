import { type Clock, nextTurn } from './clock.js'

/**
 * The long work of a process in parts, between which its event loop turns: a burst of thousands keeps nobody's timer
 * waiting for all of it. All kinds of such work share each turn.
 */
export type Turns = {
  /** This turn has had its share of long work: what is left of it awaits `room()`. */
  isSpent(): boolean
  /** Resolves in a turn that has a share left: at once in this one. */
  room(): Promise<void>
  /** Resolves in the next turn, for all in the order in which they asked. */
  next(): Promise<void>
  /** Calls `each` for all of them. Undefined where they were through before this turn was spent. */
  each<T>(items: readonly T[], each: (item: T) => void): Promise<void> | undefined
}

/** Some tens of signatures: what comes with them (journal, request) takes as much again. */
const WORK_MS = 2

export function createTurns(clock: Pick<Clock, 'now' | 'setTimer'>): Turns {
  let begunAtMs: number | undefined
  let over = Promise.resolve()

  /** The first look at a turn begins it. */
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
    each(items, each) {
      for (const [index, item] of items.entries()) {
        if (isSpent()) return rest(items, index, each)
        each(item)
      }
      return undefined
    },
  }
}
