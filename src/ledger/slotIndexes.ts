import type { Hash } from 'viem'
import { createBlockIndex, createNumberIndex } from './blockIndex.js'
import type { ReadonlyNonceMap } from './nonceMap.js'
import { isSaid, type Slot } from './slot.js'

/**
 * The nonces of a book by the blocks that their slots name. Each index contains a nonce exactly while its
 * slot is in the state that the index stands for.
 */
export type SlotIndexes = {
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
