import { createHeap } from '../../ledger/heap.js'

/** An entry of a `PendingQueue`. */
export type QueueEntry = {
  readonly priority: number
  readonly sequence: number
  readonly group?: string | undefined
}

/**
 * The entries of one priority and one group, in order of arrival. Removed entries are skipped when they come
 * to the front.
 */
export type Rank<T> = {
  /** Maps each entry to whether it may go. */
  readonly members: Map<T, boolean>
  /** The turn in which the next entry goes, among the groups of its priority (see `PendingQueue`). */
  turn: number
  put(entry: T, mayGo: boolean): void
  remove(entry: T): void
  first(): T | undefined
}

/** With fewer entries a rebuild is not worth its cost. */
export const SMALL = 64

export function createRank<T extends QueueEntry>(turn: number): Rank<T> {
  // Nearly all entries arrive in the order in which they go; they are in `inOrder`, from index `at` on. Only
  // an entry that arrives out of order pays for the comparisons of a heap.
  let inOrder: T[] = []
  let at = 0
  let others = createHeap<T>(before)
  const members = new Map<T, boolean>()

  function skip(): void {
    at++
    if (at === inOrder.length || (at > SMALL && at * 2 > inOrder.length)) {
      inOrder = inOrder.slice(at)
      at = 0
    }
  }

  function firstInOrder(): T | undefined {
    for (let top = inOrder[at]; top !== undefined; top = inOrder[at]) {
      if (members.has(top)) return top
      skip()
    }
    return undefined
  }

  function firstOfOthers(): T | undefined {
    for (let top = others.peek(); top !== undefined; top = others.peek()) {
      if (members.has(top)) return top
      others.pop()
    }
    return undefined
  }

  function rebuild(): void {
    inOrder = [...members.keys()].sort((a, b) => a.sequence - b.sequence)
    at = 0
    others = createHeap<T>(before)
  }

  return {
    members,
    turn,
    put(entry, mayGo) {
      const isNew = !members.has(entry)
      members.set(entry, mayGo)
      if (!isNew) return
      const last = inOrder[inOrder.length - 1]
      if (last === undefined || before(last, entry)) inOrder.push(entry)
      else others.push(entry)
    },
    remove(entry) {
      members.delete(entry)
      const stored = inOrder.length - at + others.size
      if (stored > SMALL && members.size * 2 < stored) rebuild()
    },
    first() {
      const a = firstInOrder()
      const b = firstOfOthers()
      return a === undefined || (b !== undefined && before(b, a)) ? b : a
    },
  }
}

export function before(a: QueueEntry, b: QueueEntry): boolean {
  return a.sequence < b.sequence
}
