import type { Address, Hash } from 'viem'
import type { SimTransaction } from '../transaction.js'

/** The transactions of a pool, by sender and nonce and by hash. */
export type PoolContents = {
  /** The transactions of a sender; undefined if it never had one. */
  of(from: Address): ReadonlyMap<number, SimTransaction> | undefined
  senders(): IterableIterator<Address>
  get(hash: Hash): SimTransaction | undefined
  all(): IterableIterator<SimTransaction>
  /** Adds a transaction, in place of the one with its nonce. */
  put(tx: SimTransaction): void
  drop(tx: SimTransaction): void
  /** Transactions that are known but treated as gapped. */
  readonly stranded: Mark
  /** Transactions that are counted but included in no block. */
  readonly passedOver: Mark
  readonly version: number
  readonly size: number
}

/** A set of pooled transactions. A transaction that leaves the pool loses its marks. */
export type Mark = {
  has(tx: SimTransaction): boolean
  set(picked: (tx: SimTransaction) => boolean): void
  clear(picked: (tx: SimTransaction) => boolean): void
}

export function createPoolContents(): PoolContents {
  const senders = new Map<Address, Map<number, SimTransaction>>()
  const hashes = new Map<Hash, SimTransaction>()
  const stranded = new Set<Hash>()
  const passedOver = new Set<Hash>()
  let version = 0

  function forget(hash: Hash): boolean {
    stranded.delete(hash)
    passedOver.delete(hash)
    return hashes.delete(hash)
  }

  const markOf = (marked: Set<Hash>): Mark => ({
    has: ({ hash }) => marked.has(hash),
    set(picked) {
      for (const tx of hashes.values()) if (picked(tx)) marked.add(tx.hash)
      version++
    },
    clear(picked) {
      for (const tx of hashes.values()) if (picked(tx)) marked.delete(tx.hash)
      version++
    },
  })

  return {
    of: (from) => senders.get(from),
    senders: () => senders.keys(),
    get: (hash) => hashes.get(hash),
    all: () => hashes.values(),
    put(tx) {
      let own = senders.get(tx.from)
      if (own === undefined) {
        own = new Map()
        senders.set(tx.from, own)
      }
      const old = own.get(tx.nonce)
      if (old !== undefined) forget(old.hash)
      own.set(tx.nonce, tx)
      hashes.set(tx.hash, tx)
      version++
    },
    drop(tx) {
      if (!forget(tx.hash)) return
      senders.get(tx.from)?.delete(tx.nonce)
      version++
    },
    stranded: markOf(stranded),
    passedOver: markOf(passedOver),
    get version() {
      return version
    },
    get size() {
      return hashes.size
    },
  }
}
