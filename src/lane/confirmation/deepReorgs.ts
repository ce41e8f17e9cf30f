import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { BlockRef } from '../../ledger/slot.js'

/**
 * Tracks the settled blocks that have left the chain and contained nonces of the lane. An endpoint that
 * served a shorter chain for a while shows the same blocks again later. Once all of them are back, nothing
 * was lost, and the hold lifts.
 */
export type DeepReorgs = {
  /** A block that used this nonce has left the chain. */
  left(nonce: number, block: BlockRef): void
  /** A block is on the chain. */
  came(block: BlockRef): void
}

/** Row 32: a settled block left the chain. */
const SETTLED_ROW = 32

export function createDeepReorgs({ lane }: { readonly lane: Lane }): DeepReorgs {
  const { holds } = lane
  const gone = new Map<number, Hash>()

  return {
    left(nonce, block) {
      // An operator has already accepted the blocks that left earlier.
      if (!holds.has('deepReorg')) gone.clear()
      const { row } = lane.apply(nonce, { type: 'left', block, token: lane.token() })
      if (row === SETTLED_ROW) gone.set(nonce, block.hash)
    },
    came({ hash }) {
      let isOne = false
      for (const [nonce, left] of gone) if (left === hash) isOne = gone.delete(nonce)
      if (isOne && gone.size === 0) holds.lift('deepReorg')
    },
  }
}
