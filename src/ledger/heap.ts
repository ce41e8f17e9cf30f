/** A binary heap. Entries are never removed from the middle: the consumer skips the stale ones. */
export type Heap<T> = {
  push(entry: T): void
  /** The entry that comes before all others. */
  peek(): T | undefined
  pop(): T | undefined
  readonly size: number
}

/** The lowest number first. */
export type MinHeap = Heap<number>

export function createMinHeap(): MinHeap {
  return createHeap((a, b) => a < b)
}

export function createHeap<T extends number | object>(before: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = []

  /** Swaps the two entries if they are in the wrong order, and returns whether it did. */
  function swapIfBefore(child: number, parent: number): boolean {
    const a = items[child]
    const b = items[parent]
    if (a === undefined || b === undefined || !before(a, b)) return false
    items[child] = b
    items[parent] = a
    return true
  }

  function rise(): void {
    for (let child = items.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1
      if (!swapIfBefore(child, parent)) return
      child = parent
    }
  }

  function sink(): void {
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1
      const a = items[left]
      const b = items[left + 1]
      const least = a !== undefined && b !== undefined && before(b, a) ? left + 1 : left
      if (!swapIfBefore(least, parent)) return
      parent = least
    }
  }

  return {
    push(entry) {
      items.push(entry)
      rise()
    },
    peek: () => items[0],
    pop() {
      const top = items[0]
      const last = items.pop()
      if (items.length > 0 && last !== undefined) {
        items[0] = last
        sink()
      }
      return top
    },
    get size() {
      return items.length
    },
  }
}
