import { createFutureQueue, type FutureQueue } from './futureQueue.js'
import type { NonceList } from './nonceList.js'
import type { GethLimits, PoolTransaction } from './poolTypes.js'
import { createPricedList, type PricedList } from './pricedList.js'

/** The pool's transactions, in the lists that geth keeps of them, without the rules for admission and limits. */
export type PoolContents<T> = {
  readonly byHash: ReadonlyMap<string, T>
  /** Slots of all transactions. */
  readonly slots: number
  /** Executable transactions by account. */
  readonly pending: Map<string, NonceList<T>>
  readonly queue: FutureQueue<T>
  readonly priced: PricedList<T>
  readonly noncer: Noncer
  /** Changes with every change of the contents. */
  readonly version: number
  /** Whether a pooled transaction carries an authorization of the account. */
  hasAuthorization(address: string): boolean
  /** Lists a transaction that was added to `pending` or `queue`. */
  include(tx: T): void
  /** Unlists transactions that were removed from `pending` or `queue`. */
  forget(txs: readonly T[]): void
  /** `removeTx`: returns the number of transactions that are no longer executable. */
  takeOut(tx: T, isInPricedList: boolean): number
  /** Notes that a transaction moved between `pending` and `queue`. */
  moved(): void
}

export function createPoolContents<T extends PoolTransaction>(
  limits: () => GethLimits,
  noncer: Noncer,
): PoolContents<T> {
  const lookup = createLookup<T>()
  const priced = createPricedList(lookup.byHash)
  const queue = createFutureQueue<T>(limits)
  const pending = new Map<string, NonceList<T>>()
  let version = 0

  return {
    byHash: lookup.byHash,
    get slots() {
      return lookup.slots
    },
    pending,
    queue,
    priced,
    noncer,
    get version() {
      return version
    },
    hasAuthorization: lookup.hasAuthorization,
    include(tx) {
      lookup.add(tx)
      priced.put(tx)
      version++
    },
    forget(txs) {
      for (const { hash } of txs) lookup.remove(hash)
      priced.removed(txs.length)
      if (txs.length > 0) version++
    },
    takeOut(tx, isInPricedList) {
      lookup.remove(tx.hash)
      if (isInPricedList) priced.removed(1)
      version++
      const list = pending.get(tx.from)
      const invalids = list?.remove(tx.nonce)
      if (list === undefined || invalids === undefined) {
        queue.remove(tx)
        return 0
      }
      if (list.size === 0) pending.delete(tx.from)
      for (const each of invalids) queue.add(each)
      noncer.setIfLower(tx.from, tx.nonce)
      return 1 + invalids.length
    },
    moved() {
      version++
    },
  }
}

/** All transactions of the pool by hash: `lookup` of geth's `legacypool.go`. */
type Lookup<T> = {
  readonly byHash: ReadonlyMap<string, T>
  readonly slots: number
  add(tx: T): void
  remove(hash: string): void
  /** Whether a pooled transaction carries an authorization of the account. */
  hasAuthorization(address: string): boolean
}

function createLookup<T extends PoolTransaction>(): Lookup<T> {
  const byHash = new Map<string, T>()
  const authorizations = new Map<string, Set<string>>()
  let slots = 0

  return {
    byHash,
    get slots() {
      return slots
    },
    add(tx) {
      byHash.set(tx.hash, tx)
      slots += tx.slots
      for (const authority of tx.authorities) {
        const hashes = authorizations.get(authority) ?? new Set()
        authorizations.set(authority, hashes.add(tx.hash))
      }
    },
    remove(hash) {
      const tx = byHash.get(hash)
      if (tx === undefined) return
      byHash.delete(hash)
      slots -= tx.slots
      for (const authority of tx.authorities) {
        const hashes = authorizations.get(authority)
        hashes?.delete(hash)
        if (hashes?.size === 0) authorizations.delete(authority)
      }
    },
    hasAuthorization: (address) => authorizations.has(address),
  }
}

/** geth's `noncer`: the next nonce of each account, which falls back to the nonce in the head's state. */
type Noncer = {
  get(address: string): number
  set(address: string, nonce: number): void
  setIfLower(address: string, nonce: number): void
  clear(): void
}

export function createNoncer(stateNonce: (address: string) => number): Noncer {
  const nonces = new Map<string, number>()
  const get = (address: string) => nonces.get(address) ?? stateNonce(address)
  return {
    get,
    set: (address, nonce) => void nonces.set(address, nonce),
    setIfLower(address, nonce) {
      if (get(address) > nonce) nonces.set(address, nonce)
    },
    clear: () => nonces.clear(),
  }
}
