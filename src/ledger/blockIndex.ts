import type { Hash } from 'viem'
import { NonceMap } from './nonceMap.js'
import type { BlockRef } from './slot.js'

/** A set of nonces. */
type Nonces = NonceMap<true>

/** Nonces indexed by a block number. */
export type NumberIndex = {
  add(number: number, nonce: number): void
  remove(number: number, nonce: number): void
  /** Sorted by nonce: verdicts are emitted in the order in which the nonces were used. */
  upTo(limit: number): number[]
}

/** Nonces indexed by the block that used them: by hash for reorgs, by number for depth. */
export type BlockIndex = {
  add(block: BlockRef, nonce: number): void
  remove(block: BlockRef, nonce: number): void
  of(hash: Hash): readonly number[]
  upTo(limit: number): number[]
}

export function createNumberIndex(): NumberIndex {
  const byNumber = new Map<number, Nonces>()
  return {
    add: (number, nonce) => addTo(byNumber, number, nonce),
    remove: (number, nonce) => removeFrom(byNumber, number, nonce),
    upTo(limit) {
      const found: number[] = []
      for (const [number, nonces] of byNumber) if (number <= limit) found.push(...nonces.keys())
      return found.sort((a, b) => a - b)
    },
  }
}

export function createBlockIndex(): BlockIndex {
  const byNumber = createNumberIndex()
  const byHash = new Map<Hash, Nonces>()
  return {
    add(block, nonce) {
      byNumber.add(block.number, nonce)
      addTo(byHash, block.hash, nonce)
    },
    remove(block, nonce) {
      byNumber.remove(block.number, nonce)
      removeFrom(byHash, block.hash, nonce)
    },
    of: (hash) => [...(byHash.get(hash)?.keys() ?? [])].sort((a, b) => a - b),
    upTo: byNumber.upTo,
  }
}

function addTo<K>(sets: Map<K, Nonces>, key: K, nonce: number): void {
  let nonces = sets.get(key)
  if (nonces === undefined) {
    nonces = new NonceMap()
    sets.set(key, nonces)
  }
  nonces.set(nonce, true)
}

/** Leaves no empty set behind: an index grows with its entries, not with the number of past blocks (P9). */
function removeFrom<K>(sets: Map<K, Nonces>, key: K, nonce: number): void {
  const found = sets.get(key)
  found?.delete(nonce)
  if (found?.size === 0) sets.delete(key)
}
