import type { PoolTransaction } from './poolTypes.js'

/** Transactions of one account by nonce: `list` and `SortedMap` of geth's `list.go`. */
export type NonceList<T> = {
  readonly size: number
  readonly totalCostWei: bigint
  get(nonce: number): T | undefined
  /** Not inserted if the nonce is taken and the fees do not rise by `priceBump` percent. */
  add(tx: T, priceBump: number): { readonly inserted: boolean; readonly old?: T | undefined }
  /** Removes all transactions below a nonce. */
  forward(nonce: number): T[]
  /** Removes the transactions that cost more than the balance or have more gas than a block. */
  filter(balanceWei: bigint, gasLimit: bigint): { readonly removed: T[]; readonly invalids: T[] }
  /** Removes the highest nonces, so that `count` transactions remain. */
  cap(count: number): T[]
  /** Removes one nonce, and in a strict list all higher ones. Undefined if the nonce is absent. */
  remove(nonce: number): T[] | undefined
  /** Removes the run that begins at or below a nonce. */
  ready(nonce: number): T[]
  /** All transactions in nonce order. */
  all(): T[]
  last(): T | undefined
}

/** `strict`: the nonces have no gaps, so removing one invalidates all higher ones. */
export function createNonceList<T extends PoolTransaction>(strict: boolean): NonceList<T> {
  const byNonce = new Map<number, T>()
  /** Nonces in ascending order. */
  const nonces: number[] = []
  let totalCostWei = 0n
  // Upper bounds of cost and gas: most filters need not look at any transaction.
  let costCapWei = 0n
  let gasCap = 0n

  /** Index of a nonce, or the index for its insertion. */
  function indexOf(nonce: number): number {
    let low = 0
    let high = nonces.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((nonces[middle] as number) < nonce) low = middle + 1
      else high = middle
    }
    return low
  }

  function takeOut(at: number, count: number): T[] {
    if (count <= 0) return []
    const gone = nonces.splice(at, count).map((nonce) => byNonce.get(nonce) as T)
    for (const tx of gone) {
      byNonce.delete(tx.nonce)
      totalCostWei -= tx.costWei
    }
    return gone
  }

  return {
    get size() {
      return nonces.length
    },
    get totalCostWei() {
      return totalCostWei
    },
    get: (nonce) => byNonce.get(nonce),
    add(tx, priceBump) {
      const old = byNonce.get(tx.nonce)
      if (old !== undefined && !outbids(tx, old, BigInt(priceBump))) return { inserted: false }
      if (old === undefined) {
        const last = nonces.at(-1)
        if (last === undefined || last < tx.nonce) nonces.push(tx.nonce)
        else nonces.splice(indexOf(tx.nonce), 0, tx.nonce)
      }
      totalCostWei += tx.costWei - (old?.costWei ?? 0n)
      byNonce.set(tx.nonce, tx)
      if (tx.costWei > costCapWei) costCapWei = tx.costWei
      if (tx.gas > gasCap) gasCap = tx.gas
      return { inserted: true, old }
    },
    forward: (nonce) => takeOut(0, indexOf(nonce)),
    filter(balanceWei, gasLimit) {
      if (costCapWei <= balanceWei && gasCap <= gasLimit) return { removed: [], invalids: [] }
      costCapWei = balanceWei
      gasCap = gasLimit
      const keeps = (tx: T) => tx.gas <= gasLimit && tx.costWei <= balanceWei
      const removed = [...byNonce.values()].filter((tx) => !keeps(tx)).sort((a, b) => a.nonce - b.nonce)
      const [lowest] = removed
      if (lowest === undefined) return { removed, invalids: [] }
      for (const { nonce } of removed) takeOut(indexOf(nonce), 1)
      return { removed, invalids: strict ? takeOut(indexOf(lowest.nonce), nonces.length) : [] }
    },
    // geth removes the highest nonce first. The order makes no difference for geth.
    cap: (count) => takeOut(count, nonces.length - count),
    remove(nonce) {
      if (!byNonce.has(nonce)) return undefined
      const at = indexOf(nonce)
      takeOut(at, 1)
      return strict ? takeOut(at, nonces.length - at) : []
    },
    ready(nonce) {
      const [first] = nonces
      if (first === undefined || first > nonce) return []
      let count = 1
      while (nonces[count] === first + count) count++
      return takeOut(0, count)
    },
    all: () => nonces.map((nonce) => byNonce.get(nonce) as T),
    last: () => byNonce.get(nonces.at(-1) as number),
  }
}

/** Both fees must be strictly higher, and at or above the old ones plus `priceBump` percent, rounded down. */
function outbids(tx: PoolTransaction, old: PoolTransaction, priceBump: bigint): boolean {
  const beats = (fee: bigint, oldFee: bigint) => fee > oldFee && fee >= ((100n + priceBump) * oldFee) / 100n
  return beats(tx.maxFeePerGas, old.maxFeePerGas) && beats(tx.maxPriorityFeePerGas, old.maxPriorityFeePerGas)
}
