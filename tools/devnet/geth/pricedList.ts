import type { PoolTransaction } from './poolTypes.js'

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

/**
 * `priceHeap` of geth's `list.go`: the cheapest transaction is on top; among equal ones the highest nonce.
 */
type PriceHeap<T> = {
  readonly length: number
  readonly top: T | undefined
  /** If undefined, fees are compared without a base fee. */
  baseFeeWei: bigint | undefined
  push(tx: T): void
  pop(): T | undefined
  fill(txs: readonly T[]): void
  /** Negative if `a` pays less than `b`. */
  compare(a: T, b: T): number
}

/** Sifts like Go's `container/heap`, so that equal transactions leave in the same order as in geth. */
function createPriceHeap<T extends PoolTransaction>(): PriceHeap<T> {
  let items: T[] = []
  let baseFeeWei: bigint | undefined

  function compare(a: T, b: T): number {
    if (baseFeeWei !== undefined) {
      const tips = order(effectiveTip(a, baseFeeWei), effectiveTip(b, baseFeeWei))
      if (tips !== 0) return tips
    }
    return order(a.maxFeePerGas, b.maxFeePerGas) || order(a.maxPriorityFeePerGas, b.maxPriorityFeePerGas)
  }

  function isLess(at: number, other: number): boolean {
    const [a, b] = [items[at] as T, items[other] as T]
    const compared = compare(a, b)
    return compared === 0 ? a.nonce > b.nonce : compared < 0
  }

  function swap(at: number, other: number): void {
    const kept = items[at] as T
    items[at] = items[other] as T
    items[other] = kept
  }

  function up(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1
      if (!isLess(at, parent)) return
      swap(at, parent)
      at = parent
    }
  }

  function down(from: number, length: number): void {
    for (let at = from; ; ) {
      const left = 2 * at + 1
      if (left >= length) return
      const child = left + 1 < length && isLess(left + 1, left) ? left + 1 : left
      if (!isLess(child, at)) return
      swap(at, child)
      at = child
    }
  }

  return {
    get length() {
      return items.length
    },
    get top() {
      return items[0]
    },
    get baseFeeWei() {
      return baseFeeWei
    },
    set baseFeeWei(wei) {
      baseFeeWei = wei
    },
    push(tx) {
      items.push(tx)
      up(items.length - 1)
    },
    pop() {
      if (items.length === 0) return undefined
      swap(0, items.length - 1)
      down(0, items.length - 1)
      return items.pop()
    },
    fill(txs) {
      items = [...txs]
      for (let at = (items.length >> 1) - 1; at >= 0; at--) down(at, items.length)
    },
    compare,
  }
}

/** The builder's share of each unit of gas; negative if the maximum fee is below the base fee. */
function effectiveTip({ maxFeePerGas, maxPriorityFeePerGas }: PoolTransaction, baseFeeWei: bigint): bigint {
  const room = maxFeePerGas - baseFeeWei
  return maxPriorityFeePerGas < room ? maxPriorityFeePerGas : room
}

function order(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
