import {
  baseOf,
  type ChainView,
  headOf,
  newestAnvil,
  type SealedBlock,
  sealedAt,
  type TagLag,
  taggedBlock,
} from '../chain/chainView.js'
import { isObject } from '../rpc/rpcTypes.js'

/** Result of parsing a block parameter. */
export type Selected =
  | { readonly kind: 'sealed'; readonly block: SealedBlock }
  | { readonly kind: 'pending' }
  /** A block before the fork; anvil has it under the same number. */
  | { readonly kind: 'forked'; readonly number: number }
  | { readonly kind: 'absent' }
  | { readonly kind: 'invalid'; readonly message: string }

export type SelectorContext = {
  readonly view: ChainView
  readonly byHash: (view: ChainView, hash: string) => SealedBlock | undefined
  readonly safe: TagLag
  readonly finalized: TagLag
  /** The block that the tag `pending` selects: the one being built, or the sealed head. */
  readonly pendingIs: 'building' | 'latest'
}

const QUANTITY = /^0x[0-9a-f]{1,16}$/i
const HASH = /^0x[0-9a-f]{64}$/i

/**
 * Parses a tag, a number, a block hash, or an EIP-1898 object. A missing selector means `latest`, as on geth.
 */
export function select(context: SelectorContext, selector: unknown): Selected {
  const { view } = context
  if (selector === undefined || selector === null) return { kind: 'sealed', block: headOf(view) }
  if (isObject(selector)) {
    const named = selector.blockHash ?? selector.blockNumber
    return typeof named === 'string' ? select(context, named) : invalidSelector(selector)
  }
  if (typeof selector !== 'string') return invalidSelector(selector)
  switch (selector) {
    case 'latest':
      return { kind: 'sealed', block: headOf(view) }
    case 'pending':
      // While a flashblock is lost, the tag selects the sealed head too.
      return view.hidden || context.pendingIs === 'latest'
        ? { kind: 'sealed', block: headOf(view) }
        : { kind: 'pending' }
    case 'safe':
      return { kind: 'sealed', block: taggedBlock(view, context.safe) }
    case 'finalized':
      return { kind: 'sealed', block: taggedBlock(view, context.finalized) }
    case 'earliest':
      return byNumber(view, 0)
  }
  if (HASH.test(selector)) return found(context.byHash(view, selector))
  return QUANTITY.test(selector) ? byNumber(view, Number(selector)) : invalidSelector(selector)
}

/** The anvil block whose state a selector reads; undefined if the block is unknown. */
export function anvilNumberOf(view: ChainView, selected: Selected): number | undefined {
  switch (selected.kind) {
    case 'sealed':
      return selected.block.lastAnvil
    case 'pending':
      return newestAnvil(view)
    case 'forked':
      return selected.number
    default:
      return undefined
  }
}

function byNumber(view: ChainView, number: number): Selected {
  return number < baseOf(view).number ? { kind: 'forked', number } : found(sealedAt(view, number))
}

function found(block: SealedBlock | undefined): Selected {
  return block === undefined ? { kind: 'absent' } : { kind: 'sealed', block }
}

function invalidSelector(selector: unknown): Selected {
  return { kind: 'invalid', message: `invalid block selector: ${JSON.stringify(selector)?.slice(0, 80)}` }
}
