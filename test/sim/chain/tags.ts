import { ancestor, type SimBlock, type View } from './block.js'

export type Tag = 'safe' | 'finalized'

/**
 * The answer of one endpoint for a tag. A moving tag names the newest block that is `lagMs` old, and moves every
 * `stepMs`: with a batch on L1 (OP stack, minutes), with an epoch (Ethereum, 6.4 minutes). From `stuckMs` after block
 * 0 on it stands still. `null` and `error`: the endpoint has no such tag.
 */
export type TagRule =
  | { readonly kind: 'depth'; readonly blocks: number }
  | {
      readonly kind: 'moving'
      readonly lagMs: number
      readonly stepMs: number
      readonly stuckMs?: number | undefined
    }
  | { readonly kind: 'null' }
  | { readonly kind: 'error' }

export type Tags = Readonly<Record<Tag, TagRule>>

export const isTag = (selector: unknown): selector is Tag => selector === 'safe' || selector === 'finalized'

/** The block of a tag on a view; block 0 until there is an older one. Undefined if the endpoint has no such tag. */
export function taggedBlock({ head, atMs }: View, genesisMs: number, rule: TagRule): SimBlock | undefined {
  switch (rule.kind) {
    case 'depth':
      return ancestor(head, Math.max(0, head.number - rule.blocks))
    case 'moving': {
      const { lagMs, stepMs, stuckMs = Number.POSITIVE_INFINITY } = rule
      const livedMs = Math.min(atMs - genesisMs, stuckMs)
      return olderThan(head, genesisMs + Math.floor(livedMs / stepMs) * stepMs - lagMs)
    }
    default:
      return undefined
  }
}

function olderThan(head: SimBlock, untilMs: number): SimBlock {
  let block = head
  while (block.timestampMs > untilMs && block.parent !== undefined) block = block.parent
  return block
}
