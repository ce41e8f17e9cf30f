import type { Hash } from 'viem'
import { NonceMap, type ReadonlyNonceMap } from './nonceMap.js'
import { type BlockRef, isSaid, type Slot } from './slot.js'

/**
 * The nonces of a book by the blocks that their slots name. Each index contains a nonce exactly while its
 * slot is in the state that the index stands for.
 */
type SlotIndexes = {
  /** The slot of the nonce changes from `before` to `after`. */
  move(nonce: number, before: Slot | undefined, after: Slot): void
  /** As in `Book`. */
  readonly unproven: ReadonlySet<number>
  usedIn(block: Hash): readonly number[]
  dueForVerdict(number: number): readonly number[]
  /** As in `Book`. All nonces below `finalTo` have been final. */
  dueForHorizon(number: number, finalTo: number): readonly number[]
  preconfirmedUpTo(number: number): readonly number[]
}

export function createSlotIndexes(slots: ReadonlyNonceMap<Slot>): SlotIndexes {
  const used = createBlockIndex()
  const settled = createBlockIndex()
  const preconfirmed = createNumberIndex()
  const unproven = new Set<number>()

  function remove(nonce: number, slot: Slot): void {
    if (slot.state === 'used') {
      if (slot.at === undefined) unproven.delete(nonce)
      else if (slot.settled) settled.remove(slot.at, nonce)
      else used.remove(slot.at, nonce)
    }
    if (slot.state === 'live' && slot.preconfirmed !== undefined)
      preconfirmed.remove(slot.preconfirmed.blockNumber, nonce)
  }

  function add(nonce: number, slot: Slot): void {
    if (slot.state === 'used') {
      if (slot.at === undefined) unproven.add(nonce)
      else if (slot.settled) settled.add(slot.at, nonce)
      else used.add(slot.at, nonce)
    }
    if (slot.state === 'live' && slot.preconfirmed !== undefined)
      preconfirmed.add(slot.preconfirmed.blockNumber, nonce)
  }

  function saidBelow(nonce: number): number[] {
    return [...unproven].filter((said) => said < nonce && isSaid(slots.get(said)))
  }

  return {
    move(nonce, before, after) {
      if (before !== undefined) remove(nonce, before)
      add(nonce, after)
    },
    unproven,
    usedIn: (block) => [...used.of(block), ...settled.of(block)],
    dueForVerdict: used.upTo,
    dueForHorizon: (number, finalTo) => [...settled.upTo(number), ...saidBelow(finalTo)],
    preconfirmedUpTo: preconfirmed.upTo,
  }
}

/** A set of nonces. */
type Nonces = NonceMap<true>

/** Nonces indexed by a block number. */
type NumberIndex = {
  add(number: number, nonce: number): void
  remove(number: number, nonce: number): void
  /** Sorted by nonce: verdicts are emitted in the order in which the nonces were used. */
  upTo(limit: number): number[]
}

/** Nonces indexed by the block that used them: by hash for reorgs, by number for depth. */
type BlockIndex = {
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
