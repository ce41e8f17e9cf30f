import type { BlockRef } from '../../ledger/slot.js'

/** The numbers of blocks by age, for the question which blocks are older than a fixed time. */
export type BlockAges = {
  /** The block has existed since `atMs`. Blocks may be added in any order. */
  add(number: number, atMs: number): void
  /** The block left the chain. */
  left(block: Pick<BlockRef, 'number'>): void
  /** The highest block that is at least `ageMs` old at `nowMs`, which never decreases; -1 if there is none. */
  oldUpTo(nowMs: number): number
}

/** A block is reported at most this part of the age too late. Its number bounds the memory. */
const PARTS = 64

export function createBlockAges(ageMs: number): BlockAges {
  // The highest block of each part of the age, in ascending order of time.
  const parts = new Map<number, { number: number; atMs: number }>()
  let oldUpTo = -1

  return {
    add(number, atMs) {
      const part = Math.floor((atMs * PARTS) / ageMs)
      const known = parts.get(part)
      if (known === undefined) parts.set(part, { number, atMs })
      else if (number > known.number) Object.assign(known, { number, atMs })
    },
    left({ number }) {
      for (const [part, mark] of parts) if (mark.number >= number) parts.delete(part)
      oldUpTo = Math.min(oldUpTo, number - 1)
    },
    oldUpTo(nowMs) {
      for (const [part, { number, atMs }] of parts) {
        if (nowMs - atMs < ageMs) continue
        oldUpTo = Math.max(oldUpTo, number)
        parts.delete(part)
      }
      return oldUpTo
    },
  }
}
