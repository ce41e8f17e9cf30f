/**
 * Whose turn it is. The groups that have something to deliver take turns, so that many deliveries of one do not hold up
 * another. A group begins with two calls at a time, which double with each one that is accepted; after a failure it has
 * two again: a receiver that is silent takes no more places than that. What has no group has no such bound: nothing says
 * that its calls go to one receiver.
 */
export type Turns<T> = {
  /** How many run. */
  readonly running: number
  /** One more delivery is known of the group: it counts until it leaves. */
  join(group: string): void
  leave(group: string): void
  /** `isAgain`: it failed before. */
  wait(item: T, group: string, isAgain: boolean): void
  /** The next one, which runs from now on. Undefined where nothing may begin now. */
  next(): Turn<T> | undefined
  /** The last call of the group failed, and it has more deliveries than there is room for others. */
  isCrowded(group: string, room: number): boolean
}

export type Turn<T> = {
  readonly item: T
  /** It runs no more. `accepted` is undefined where nothing was called. */
  end(accepted: boolean | undefined): void
}

type Group<T> = {
  readonly fresh: T[]
  readonly again: T[]
  members: number
  running: number
  retrying: number
  window: number
  isFailing: boolean
}

/** What has no group. No caller can name it. */
export const NO_GROUP = ''

/** One for what was never tried, and one for what failed. */
const WINDOW_MIN = 2

const half = (count: number) => Math.max(1, Math.floor(count / 2))

/** `concurrency`: so many run at once; of those that failed before, or whose group fails, at most half, and one. */
export function createTurns<T>(concurrency: number): Turns<T> {
  const doubtfulMax = half(concurrency)
  // In the order of their turns.
  const groups = new Map<string, Group<T>>()
  let running = 0
  let doubtful = 0

  function groupOf(name: string): Group<T> {
    const known = groups.get(name)
    if (known) return known
    const window = name === NO_GROUP ? concurrency : WINDOW_MIN
    const group = { fresh: [], again: [], members: 0, running: 0, retrying: 0, window, isFailing: false }
    groups.set(name, group)
    return group
  }

  /** What was never tried goes first: what fails holds up no more than its own. */
  function pick(): { name: string; group: Group<T>; isRetry: boolean; isDoubtful: boolean } | undefined {
    for (const isRetry of [false, true])
      for (const [name, group] of groups) {
        const isDoubtful = isRetry || group.isFailing
        const waits = isRetry ? group.again : group.fresh
        if (waits.length === 0 || group.running >= group.window) continue
        if (isRetry && group.retrying >= half(group.window)) continue
        if (!isDoubtful || doubtful < doubtfulMax) return { name, group, isRetry, isDoubtful }
      }
    return undefined
  }

  return {
    get running() {
      return running
    },
    join(name) {
      groupOf(name).members++
    },
    leave(name) {
      const group = groupOf(name)
      if (--group.members <= 0) groups.delete(name)
    },
    wait(item, name, isAgain) {
      const group = groupOf(name)
      if (isAgain) group.again.push(item)
      else group.fresh.push(item)
    },
    next() {
      const picked = running < concurrency ? pick() : undefined
      if (picked === undefined) return undefined
      const { name, group, isRetry, isDoubtful } = picked
      const item = (isRetry ? group.again : group.fresh).shift() as T
      // Behind all others.
      groups.delete(name)
      groups.set(name, group)
      const count = (by: 1 | -1) => {
        running += by
        group.running += by
        if (isRetry) group.retrying += by
        if (isDoubtful) doubtful += by
      }
      count(1)
      return {
        item,
        end(accepted) {
          count(-1)
          if (accepted === undefined || name === NO_GROUP) return
          group.isFailing = !accepted
          group.window = accepted ? Math.min(Math.max(concurrency, WINDOW_MIN), 2 * group.window) : WINDOW_MIN
        },
      }
    },
    isCrowded: (name, room) => {
      const { isFailing, members } = groups.get(name) ?? { isFailing: false, members: 0 }
      return isFailing && members > room
    },
  }
}
