import type { PoolTransaction } from './poolTypes.js'

/** All transactions of the pool by hash: `lookup` of geth's `legacypool.go`. */
export type Lookup<T> = {
  readonly byHash: ReadonlyMap<string, T>
  readonly slots: number
  add(tx: T): void
  remove(hash: string): void
  /** Whether a pooled transaction carries an authorization of the account. */
  hasAuthorization(address: string): boolean
}

export function createLookup<T extends PoolTransaction>(): Lookup<T> {
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
