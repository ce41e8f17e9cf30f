import { concat, type Hex, keccak256 } from 'viem'
import type { RpcObject } from '../rpc/rpcTypes.js'
import type { Deposit } from './deposits.js'

/** One block of anvil. In mode `preconfirmed` ten of them make a sealed block by default, else one. */
export type Flashblock = {
  readonly anvilNumber: number
  readonly anvilHash: Hex
  readonly header: RpcObject
  readonly hashes: readonly Hex[]
  readonly gasUsed: bigint
  readonly logCount: number
  /** Time of the sealed block that contains it. */
  readonly timestampMs: number
  /** Deposits before the transactions; the later flashblocks of a sealed block have none. */
  readonly deposits: readonly Deposit[]
  /** Totals before the first of `hashes` in the same sealed block: transactions, gas and logs. */
  readonly before: { readonly transactions: number; readonly gas: bigint; readonly logs: number }
}

export type SealedBlock = {
  readonly number: number
  readonly hash: Hex
  /** Number of the anvil block that holds the state after this block. */
  readonly lastAnvil: number
  readonly timestampMs: number
  readonly flashblocks: readonly Flashblock[]
  /** The header that clients receive, without `transactions`. */
  readonly header: RpcObject
}

/** Fixed when the block is opened, so that all its flashblocks share these values. */
export type Opening = { readonly timestampMs: number; readonly baseFeePerGas: bigint }

/**
 * The chain at one moment. A view is immutable: each step creates a new one, so a batch that took a view is
 * answered from one state although the chain advances.
 */
export type ChainView = {
  /**
   * Ascending; the first one is the genesis or the fork block. The array may have grown since: this view has
   * the first `length` entries.
   */
  readonly sealed: readonly SealedBlock[]
  readonly length: number
  readonly open: readonly Flashblock[]
  readonly opening: Opening
  /** True if a flashblock was lost: `pending` answers as `latest` until the next one. */
  readonly hidden: boolean
}

export function baseOf(view: ChainView): SealedBlock {
  return view.sealed[0]!
}

export function headOf(view: ChainView): SealedBlock {
  return view.sealed[view.length - 1]!
}

export function sealedAt(view: ChainView, number: number): SealedBlock | undefined {
  const index = number - baseOf(view).number
  return index < view.length ? view.sealed[index] : undefined
}

/** Lag of a block tag behind the head, in milliseconds of chain time. */
export type TagLag = { readonly lagMs: number; readonly stepMs: number }

/**
 * The newest block that is `lagMs` older than the last multiple of `stepMs`, or the first block of the chain:
 * a tag moves in steps, and lags most just before it moves.
 */
export function taggedBlock(view: ChainView, { lagMs, stepMs }: TagLag): SealedBlock {
  const base = baseOf(view)
  const elapsedMs = headOf(view).timestampMs - base.timestampMs
  const taggedMs = base.timestampMs + Math.floor(elapsedMs / stepMs) * stepMs - lagMs
  let low = 0
  let high = view.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (view.sealed[middle]!.timestampMs <= taggedMs) low = middle
    else high = middle - 1
  }
  return view.sealed[low]!
}

/** Number of the anvil block that `pending` reads. */
export function newestAnvil(view: ChainView): number {
  return (view.hidden ? undefined : view.open.at(-1)?.anvilNumber) ?? headOf(view).lastAnvil
}

/** Changes with every flashblock and is never the hash of a sealed block. */
export function partialHash(view: ChainView): Hex {
  return keccak256(concat([view.open.at(-1)?.anvilHash ?? headOf(view).hash, '0xf1']))
}

export type Place = { readonly number: number; readonly hash: Hex; readonly flashblock: Flashblock }

/** Place of an anvil block in the view; undefined if the view does not contain the block yet. */
export function placeOf(view: ChainView, anvilNumber: number): Place | undefined {
  const head = headOf(view)
  if (anvilNumber > head.lastAnvil) {
    const flashblock = view.hidden ? undefined : view.open[anvilNumber - head.lastAnvil - 1]
    return flashblock && { number: head.number + 1, hash: partialHash(view), flashblock }
  }
  const block = holding(view, anvilNumber)
  const flashblock = block?.flashblocks.find((one) => one.anvilNumber === anvilNumber)
  return block && flashblock && { number: block.number, hash: block.hash, flashblock }
}

/** The first sealed block whose last anvil block is at or above `anvilNumber`, by bisection. */
function holding(view: ChainView, anvilNumber: number): SealedBlock | undefined {
  let low = 0
  let high = view.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (view.sealed[middle]!.lastAnvil < anvilNumber) low = middle + 1
    else high = middle
  }
  return view.sealed[low]
}

/**
 * The same chain as seen by a replica that lags `blocks` sealed blocks behind, at the same flashblock index.
 * A chain without flashblocks has no open block.
 */
export function laggingView(view: ChainView, blocks: number, hasFlashblocks: boolean): ChainView {
  const length = Math.max(1, view.length - blocks)
  const next = length < view.length ? view.sealed[length] : undefined
  if (next === undefined) return view
  const opening = {
    timestampMs: next.timestampMs,
    baseFeePerGas: BigInt(next.header.baseFeePerGas as string),
  }
  const open = hasFlashblocks ? next.flashblocks.slice(0, Math.max(1, view.open.length)) : []
  return { ...view, length, open, opening }
}
