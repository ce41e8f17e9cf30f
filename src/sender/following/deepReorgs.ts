import type { Hash } from 'viem'
import type { BlockRef } from '../../ledger/slot.js'
import type { LaneContext } from '../context.js'

/**
 * What settled blocks took with them when they left the chain. An endpoint that showed a shorter chain for a while shows
 * the same blocks again: where each nonce stands in the very block that it had left, nothing was lost, and the hold lifts.
 */
export type DeepReorgs = {
  /** A block that used this nonce has left the chain. */
  left(nonce: number, block: BlockRef): void
  /** A block with an attempt of ours at this nonce is on the chain. */
  came(nonce: number, block: BlockRef): void
}

/** Row 32: a settled block left the chain. */
const SETTLED_ROW = 32

export function createDeepReorgs({ lane }: Pick<LaneContext, 'lane'>): DeepReorgs {
  const { holds } = lane
  const gone = new Map<number, Hash>()

  return {
    left(nonce, block) {
      // An operator has looked at what left before.
      if (!holds.has('deepReorg')) gone.clear()
      const { row } = lane.apply(nonce, { type: 'left', block, token: lane.token() })
      if (row === SETTLED_ROW) gone.set(nonce, block.hash)
    },
    came(nonce, block) {
      if (gone.get(nonce) !== block.hash) return
      gone.delete(nonce)
      if (gone.size === 0) holds.lift('deepReorg')
    },
  }
}
