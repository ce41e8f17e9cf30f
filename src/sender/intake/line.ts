/**
 * Who takes a nonce next: the highest priority first, and the first to come among equals. A binary heap over
 * (priority, sequence); entries that left the line are skipped when they surface.
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

export function createLine<T extends LineEntry>(): Line<T> {
  let heap: T[] = []
  const members = new Set<T>()

  const before = (a: T, b: T): boolean =>
    a.priority === b.priority ? a.sequence < b.sequence : a.priority > b.priority

  function rise(start: number): void {
    for (let child = start; child > 0; ) {
      const parent = (child - 1) >> 1
      if (!swapIfBefore(child, parent)) return
      child = parent
    }
  }

  function sink(): void {
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1
      const right = left + 1
      const a = heap[left]
      const b = heap[right]
      if (a === undefined) return
      const least = b !== undefined && before(b, a) ? right : left
      if (!swapIfBefore(least, parent)) return
      parent = least
    }
  }

  function swapIfBefore(child: number, parent: number): boolean {
    const a = heap[child]
    const b = heap[parent]
    if (a === undefined || b === undefined || !before(a, b)) return false
    heap[child] = b
    heap[parent] = a
    return true
  }

  function takeTop(): T | undefined {
    const top = heap[0]
    const last = heap.pop()
    if (heap.length > 0 && last !== undefined) {
      heap[0] = last
      sink()
    }
    return top
  }

  function peek(): T | undefined {
    for (let top = heap[0]; top !== undefined; top = heap[0]) {
      if (members.has(top)) return top
      takeTop()
    }
    return undefined
  }

  return {
    add(entry) {
      if (members.has(entry)) return
      members.add(entry)
      heap.push(entry)
      rise(heap.length - 1)
    },
    remove(entry) {
      members.delete(entry)
      // What surfaces is skipped by `peek`; a heap that is mostly such entries is made anew.
      if (heap.length > 64 && members.size * 2 < heap.length) {
        const rest = [...members].sort((a, b) => (before(a, b) ? -1 : 1))
        heap = rest
      }
    },
    peek,
    shift() {
      const top = peek()
      if (top === undefined) return undefined
      takeTop()
      members.delete(top)
      return top
    },
    get size() {
      return members.size
    },
    [Symbol.iterator]: () => members.values(),
  }
}
