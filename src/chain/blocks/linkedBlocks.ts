import type { Hash } from 'viem'
import { upwards } from '../../ledger/evidence.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { SealedBlock } from './follower.js'

/** The newest walked blocks, without their transactions, each linked to its predecessor. */
export type LinkedBlocks = {
  /** The newest block that joined. It stays until another one joins, even if it has left. */
  readonly tip: SealedBlock | undefined
  /** The number of the lowest block; 0 if there is none. */
  readonly oldest: number
  at(number: number): SealedBlock | undefined
  hashAt(number: number): Hash | undefined
  has(block: BlockRef): boolean
  /** The block follows one of these blocks. */
  isLinked(block: SealedBlock): boolean
  /** Adds blocks at the top, and drops those that are too old. */
  join(came: readonly SealedBlock[]): void
  /** Removes the blocks from this number upwards, and returns them from the tip downwards. */
  leave(from: number): BlockRef[]
  /** Removes the blocks above this number, and makes its block the tip. */
  cutBack(number: number): BlockRef[]
  /** Replaces all blocks by this one. */
  restart(block: SealedBlock): void
  /** Adds blocks below the lowest one. */
  extend(lower: readonly SealedBlock[]): void
}

export function createLinkedBlocks(length: number): LinkedBlocks {
  const blocks = new Map<number, SealedBlock>()
  let tip: SealedBlock | undefined

  const add = (block: SealedBlock): void => void blocks.set(block.number, { ...block, hashes: [] })

  function join(came: readonly SealedBlock[]): void {
    for (const block of came) {
      add(block)
      tip = block
    }
    if (tip === undefined) return
    for (const number of blocks.keys()) {
      if (number > tip.number - length) break
      blocks.delete(number)
    }
  }

  function leave(from: number): BlockRef[] {
    const left: BlockRef[] = []
    for (let number = tip?.number ?? -1; number >= from; number--) {
      const block = blocks.get(number)
      if (block) left.push({ number, hash: block.hash })
      blocks.delete(number)
    }
    return left
  }

  return {
    get tip() {
      return tip
    },
    get oldest() {
      for (const number of blocks.keys()) return number
      return 0
    },
    at: (number) => blocks.get(number),
    hashAt: (number) => blocks.get(number)?.hash,
    has: ({ number, hash }) => blocks.get(number)?.hash === hash,
    isLinked: ({ number, parentHash }) => blocks.get(number - 1)?.hash === parentHash,
    join,
    leave,
    cutBack(number) {
      const left = leave(number + 1)
      tip = blocks.get(number)
      return left
    },
    restart(block) {
      blocks.clear()
      join([block])
    },
    extend(lower) {
      const known = [...blocks]
      blocks.clear()
      for (const block of lower) add(block)
      for (const [number, block] of known) blocks.set(number, block)
    },
  }
}

/** Whether each block follows the one before it. */
export function isChain(blocks: readonly SealedBlock[]): boolean {
  return blocks.every((block, index) => {
    const below = blocks[index - 1]
    return below === undefined || (block.parentHash === below.hash && block.number === below.number + 1)
  })
}

/** The parent is compared too: no block above has confirmed it, and it links the blocks below. */
export function isSame(shown: SealedBlock | undefined, latest: SealedBlock): boolean {
  return shown?.hash === latest.hash && shown.parentHash === latest.parentHash
}

/** The numbers from `first` (inclusive) to `end` (exclusive). */
export function numbersFrom(first: number, end: number): readonly number[] {
  return upwards(first, end - first)
}
