import type { Address, Hex } from 'viem'
import { type BlockSelector, decodeCode, decodeNumber, decodeWord, encodeBlock } from '../codec.js'
import { encodeAddress, encodeSlot, type SlotPosition } from './arguments.js'
import { type ReadOptions, type ReadSource, readOne } from './source.js'

type AtBlock = ReadOptions & {
  readonly address: Address
  /** A number (hex, bigint or number) or a tag. `pending`: with what was pre-confirmed. */
  readonly block: BlockSelector
}

export type GetStorageAtParameters = AtBlock & { readonly slot: SlotPosition }
export type GetTransactionCountParameters = AtBlock
export type GetCodeParameters = AtBlock

/** Described in `public.ts`. */
export async function getStorageAt(source: ReadSource, parameters: GetStorageAtParameters): Promise<Hex> {
  const { address, slot, block, ...options } = parameters
  const method = 'eth_getStorageAt'
  const params = [encodeAddress(address), encodeSlot(slot), encodeBlock(block)]
  return readOne(source, { method, params }, options, (result) => decodeWord(result, method))
}

/** Described in `public.ts`. */
export async function getTransactionCount(
  source: ReadSource,
  parameters: GetTransactionCountParameters,
): Promise<number> {
  const { address, block, ...options } = parameters
  const method = 'eth_getTransactionCount'
  const params = [encodeAddress(address), encodeBlock(block)]
  return readOne(source, { method, params }, options, (result) => decodeNumber(result, method))
}

/** Described in `public.ts`. */
export async function getCode(source: ReadSource, parameters: GetCodeParameters): Promise<Hex> {
  const { address, block, ...options } = parameters
  const method = 'eth_getCode'
  const params = [encodeAddress(address), encodeBlock(block)]
  return readOne(source, { method, params }, options, (result) => decodeCode(result, method))
}
