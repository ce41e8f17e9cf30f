import type { Chain } from 'viem'
import { createBlockAges } from '../../chain/blocks/blockAges.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { LaneOptions } from '../../types/index.js'

export type DeclaredFinality = NonNullable<LaneOptions<Chain>['finality']>

type DepthContext = {
  readonly endpointPool: {
    readonly tracker: Pick<EndpointPool['tracker'], 'blockMs' | 'isAtRest' | 'stoodUpTo' | 'tag'>
  }
  readonly lossDepth: 'child' | 'safe' | number
}

/** Depth at which a block proves an end if the chain was configured to have a `safe` tag and has none. */
const DEPTH_WITHOUT_SAFE = 12
/** The least time that blocks of this depth take: 12 fast blocks are over in seconds. */
const DEPTH_WITHOUT_SAFE_MS = 24_000

/**
 * The highest block number that is deep enough to prove an end (`lossDepth`); -1 while no such block is
 * known. If the chain is at rest and no child block will come, elapsed time replaces depth.
 */
export function settledUpTo(context: DepthContext, head: number): number {
  const { isAtRest, stoodUpTo } = context.endpointPool.tracker
  const deep = deepUpTo(context, head)
  return context.lossDepth === 'child' && !isAtRest ? Math.min(deep, stoodUpTo) : deep
}

/** As `settledUpTo`, whatever the time for which the block has stood. */
export function deepUpTo({ lossDepth, endpointPool }: DepthContext, head: number): number {
  const { tracker } = endpointPool
  if (tracker.isAtRest) return head
  if (lossDepth === 'child') return head - 1
  if (lossDepth !== 'safe') return head - lossDepth
  const safe = tracker.tag('safe')
  if (safe !== 'absent') return safe ?? -1
  return head - Math.max(DEPTH_WITHOUT_SAFE, Math.ceil(DEPTH_WITHOUT_SAFE_MS / (tracker.blockMs ?? Infinity)))
}

/** The blocks that are beyond every reorg. */
export type Horizon = {
  /** A block joined the chain, or an old block is on it. */
  joined(block: { readonly number: number; readonly timestamp: number }): void
  /** A block left the chain. */
  left(block: BlockRef): void
  /** The highest such block; -1 while none is known. */
  upTo(head: number): number
}

/** On a chain without the tag, if the caller declares no finality. The transaction is then forgotten. */
const UNDECLARED: DeclaredFinality = { afterMs: 3_600_000 }

/**
 * The `finalized` tag where the endpoint has it, otherwise the declared finality. The age of a block is the
 * difference of timestamps, so that it does not begin anew with each start of the process.
 */
export function createHorizon({
  endpointPool: { tracker },
  finality = UNDECLARED,
}: Pick<DepthContext, 'endpointPool'> & { readonly finality: DeclaredFinality | undefined }): Horizon {
  const ages = 'afterMs' in finality ? createBlockAges(finality.afterMs) : undefined
  let newestMs = Number.NEGATIVE_INFINITY

  return {
    joined({ number, timestamp }) {
      newestMs = Math.max(newestMs, 1_000 * timestamp)
      ages?.add(number, 1_000 * timestamp)
    },
    left: (block) => ages?.left(block),
    upTo(head) {
      const finalized = tracker.tag('finalized')
      if (finalized !== 'absent') return finalized ?? -1
      return 'depth' in finality ? head - finality.depth : (ages?.oldUpTo(newestMs) ?? -1)
    },
  }
}
