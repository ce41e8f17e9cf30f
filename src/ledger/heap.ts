/** A binary min-heap of numbers. Entries are never removed from the middle: the reader skips the stale ones. */
export type MinHeap = {
  push(value: number): void
  peek(): number | undefined
  pop(): number | undefined
  readonly size: number
}

export function createMinHeap(): MinHeap {
  const items: number[] = []
  const at = (index: number): number => items[index] ?? Number.POSITIVE_INFINITY

  function swap(a: number, b: number): void {
    const held = at(a)
    items[a] = at(b)
    items[b] = held
  }

  function rise(index: number): void {
    for (let child = index; child > 0; ) {
      const parent = (child - 1) >> 1
      if (at(parent) <= at(child)) return
      swap(parent, child)
      child = parent
    }
  }

  function sink(): void {
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1
      const least = at(left + 1) < at(left) ? left + 1 : left
      if (at(parent) <= at(least)) return
      swap(parent, least)
      parent = least
    }
  }

  return {
    push(value) {
      items.push(value)
      rise(items.length - 1)
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
