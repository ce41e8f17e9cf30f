import { createHeap } from '../../ledger/heap.js'

/**
 * Who takes a nonce next: the highest priority first, and the first to come among equals. Entries that left the line
 * are skipped when they surface.
 */
export type Line<T extends LineEntry> = {
  add(entry: T): void
  /** Takes it out, wherever it stands. */
  remove(entry: T): void
  peek(): T | undefined
  shift(): T | undefined
  readonly size: number
  [Symbol.iterator](): Iterator<T>
}

export type LineEntry = { readonly priority: number; readonly sequence: number }

/** With fewer entries it is not worth making it anew. */
const SMALL = 64

export function createLine<T extends LineEntry>(): Line<T> {
  // Nearly all come in the order in which they go, from `first` on: only what does not pays for a heap's comparisons.
  let inOrder: T[] = []
  let first = 0
  let others = createHeap<T>(before)
  const members = new Set<T>()

  function skip(): void {
    first++
    if (first === inOrder.length || (first > SMALL && first * 2 > inOrder.length)) {
      inOrder = inOrder.slice(first)
      first = 0
    }
  }

  function firstInOrder(): T | undefined {
    for (let top = inOrder[first]; top !== undefined; top = inOrder[first]) {
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

  function peek(): T | undefined {
    const a = firstInOrder()
    const b = firstOfOthers()
    return a === undefined || (b !== undefined && before(b, a)) ? b : a
  }

  function makeAnew(): void {
    inOrder = [...members].sort((a, b) => (before(a, b) ? -1 : 1))
    first = 0
    others = createHeap<T>(before)
  }

  return {
    add(entry) {
      if (members.has(entry)) return
      members.add(entry)
      const last = inOrder[inOrder.length - 1]
      if (last === undefined || before(last, entry)) inOrder.push(entry)
      else others.push(entry)
    },
    remove(entry) {
      members.delete(entry)
      const held = inOrder.length - first + others.size
      if (held > SMALL && members.size * 2 < held) makeAnew()
    },
    peek,
    shift() {
      const top = peek()
      if (top === undefined) return undefined
      if (top === inOrder[first]) skip()
      else others.pop()
      members.delete(top)
      return top
    },
    get size() {
      return members.size
    },
    [Symbol.iterator]: () => members.values(),
  }
}

function before(a: LineEntry, b: LineEntry): boolean {
  return a.priority === b.priority ? a.sequence < b.sequence : a.priority > b.priority
}
