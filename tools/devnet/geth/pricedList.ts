import type { PoolTransaction } from './poolTypes.js'
import { createPriceHeap, type PriceHeap } from './priceHeap.js'

/** Ranks the transactions that a full pool drops first: `pricedList` of geth's `list.go`. */
export type PricedList<T> = {
  put(tx: T): void
  /** Notes that `count` listed transactions have left the pool. */
  removed(count: number): void
  /** Whether a transaction pays no more than the cheapest pooled one. */
  isUnderpriced(tx: T): boolean
  /**
   * Removes the cheapest transactions until `slots` are free; undefined if the pool does not hold that many.
   */
  discard(slots: number): T[] | undefined
  setBaseFee(wei: bigint | undefined): void
}

const URGENT_RATIO = 4

/**
 * `pooled` is the pool's own table. A listed transaction that is absent from it has left the pool, and is
 * skipped here when it comes up.
 */
export function createPricedList<T extends PoolTransaction>(pooled: ReadonlyMap<string, T>): PricedList<T> {
  // Ordered by the effective tip in the next block.
  const urgent = createPriceHeap<T>()
  // Ordered by the maximum fee. A transaction that `urgent` would drop goes here first.
  const floating = createPriceHeap<T>()
  let stales = 0

  const isStale = (tx: T) => !pooled.has(tx.hash)

  function isUnderpricedFor(heap: PriceHeap<T>, tx: T): boolean {
    while (heap.top !== undefined && isStale(heap.top)) {
      stales--
      heap.pop()
    }
    return heap.top !== undefined && heap.compare(heap.top, tx) >= 0
  }

  function reheap(): void {
    stales = 0
    urgent.fill([...pooled.values()])
    const moved: T[] = []
    for (let count = Math.floor(urgent.length / (URGENT_RATIO + 1)); count > 0; count--) {
      moved.push(urgent.pop() as T)
    }
    floating.fill(moved)
  }

  return {
    put: (tx) => urgent.push(tx),
    removed(count) {
      stales += count
      if (stales > Math.floor((urgent.length + floating.length) / 4)) reheap()
    },
    isUnderpriced(tx) {
      const inUrgent = isUnderpricedFor(urgent, tx) || urgent.length === 0
      return (
        inUrgent &&
        (isUnderpricedFor(floating, tx) || floating.length === 0) &&
        urgent.length + floating.length > 0
      )
    },
    discard(slots) {
      const dropped: T[] = []
      let left = slots
      while (left > 0) {
        const isBalanced = urgent.length <= floating.length * URGENT_RATIO
        const tx = isBalanced ? floating.pop() : urgent.pop()
        if (tx === undefined) break
        if (isStale(tx)) stales--
        else if (!isBalanced) floating.push(tx)
        else {
          dropped.push(tx)
          left -= tx.slots
        }
      }
      if (left <= 0) return dropped
      for (const tx of dropped) urgent.push(tx)
      return undefined
    },
    setBaseFee(wei) {
      urgent.baseFeeWei = wei
      reheap()
    },
  }
}
