import type { Address, Hex } from 'viem'
import { type BlockSelector, decodeData, decodeHash, decodeNumber, encodeBlock } from '../codec.js'
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

/**
 * The 32 bytes at a storage slot.
 *
 * Not every node overlays storage at `pending`: there it equals `latest` (see the endpoint profile).
 * @throws `INVALID` for a bad argument, before anything is sent; a typed error that names the method otherwise.
 */
export async function getStorageAt(source: ReadSource, parameters: GetStorageAtParameters): Promise<Hex> {
  const { address, slot, block, ...options } = parameters
  const method = 'eth_getStorageAt'
  const params = [encodeAddress(address), encodeSlot(slot), encodeBlock(block)]
  return readOne(source, { method, params }, options, (result) => decodeHash(result, method))
}

/**
 * The number of transactions sent from an address: the nonce of its next one.
 *
 * What `pending` counts differs by node: the mempool too, pre-confirmed transactions only, or no more than `latest`
 * (see the endpoint profile). So the answer may be a nonce that is already used by a transaction on its way.
 * @throws `INVALID` for a bad argument, before anything is sent; a typed error that names the method otherwise.
 */
export async function getTransactionCount(
  source: ReadSource,
  parameters: GetTransactionCountParameters,
): Promise<number> {
  const { address, block, ...options } = parameters
  const method = 'eth_getTransactionCount'
  const params = [encodeAddress(address), encodeBlock(block)]
  return readOne(source, { method, params }, options, (result) => decodeNumber(result, method))
}

/**
 * The bytecode at an address: `0x` where there is none, `0xef0100` and 20 bytes for a delegated account (EIP-7702).
 *
 * Not every node overlays code at `pending`: there it equals `latest` (see the endpoint profile).
 * @throws `INVALID` for a bad argument, before anything is sent; a typed error that names the method otherwise.
 */
export async function getCode(source: ReadSource, parameters: GetCodeParameters): Promise<Hex> {
  const { address, block, ...options } = parameters
  const method = 'eth_getCode'
  const params = [encodeAddress(address), encodeBlock(block)]
  return readOne(source, { method, params }, options, (result) => decodeData(result, method))
}
