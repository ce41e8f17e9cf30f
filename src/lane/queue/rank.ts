import { createHeap } from '../../ledger/heap.js'

/** What stands in a line. */
export type QueueEntry = {
  readonly priority: number
  readonly sequence: number
  readonly group?: string | undefined
}

/** The entries of one priority and one group, in the order in which they came. Those that left are skipped when they surface. */
export type Rank<T> = {
  /** Each with whether it may go. */
  readonly members: Map<T, boolean>
  /** When its next entry goes, among the groups of its priority: see `Line`. */
  turn: number
  put(entry: T, mayGo: boolean): void
  remove(entry: T): void
  first(): T | undefined
}

/** With fewer entries it is not worth making it anew. */
export const SMALL = 64

export function createRank<T extends QueueEntry>(turn: number): Rank<T> {
  // Nearly all come in the order in which they go, from `at` on: only what does not pays for a heap's comparisons.
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

  function makeAnew(): void {
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
      const held = inOrder.length - at + others.size
      if (held > SMALL && members.size * 2 < held) makeAnew()
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
