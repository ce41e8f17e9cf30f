import type { PoolTransaction } from './poolTypes.js'

/**
 * `priceHeap` of geth's `list.go`: the cheapest transaction is on top; among equal ones the highest nonce.
 */
export type PriceHeap<T> = {
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
export function createPriceHeap<T extends PoolTransaction>(): PriceHeap<T> {
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
