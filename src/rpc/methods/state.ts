import type { Address, Hex } from 'viem'
import { type BlockSelector, decodeNumber, encodeBlock } from '../codec.js'
import { profileOf } from '../profile.js'
import { encodeAddress, encodeSlot, type SlotPosition } from './arguments.js'
import { plainRead, readPendingState, readPlain, type StatePlace } from './pendingState.js'
import { firstAnswer, type ReadOptions, type ReadSource, readOne, readPorts } from './source.js'

type AtBlock = ReadOptions & {
  readonly address: Address
  /** A number (hex, bigint or number) or a tag. `pending` includes pre-confirmed transactions. */
  readonly block: BlockSelector
}

export type GetStorageAtParameters = AtBlock & { readonly slot: SlotPosition }
export type GetTransactionCountParameters = AtBlock
export type GetCodeParameters = AtBlock

/** Documented in `public.ts`. */
export async function getStorageAt(
  source: ReadSource,
  { address, slot, block, ...options }: GetStorageAtParameters,
): Promise<Hex> {
  const place = { address: encodeAddress(address), slot: encodeSlot(slot) }
  return readPlace(source, place, encodeBlock(block), options)
}

/** Documented in `public.ts`. */
export async function getTransactionCount(
  source: ReadSource,
  parameters: GetTransactionCountParameters,
): Promise<number> {
  const { address, block, ...options } = parameters
  const method = 'eth_getTransactionCount'
  const params = [encodeAddress(address), encodeBlock(block)]
  return readOne(source, { method, params }, options, (result) => decodeNumber(result, method))
}

/** Documented in `public.ts`. */
export async function getCode(
  source: ReadSource,
  { address, block, ...options }: GetCodeParameters,
): Promise<Hex> {
  return readPlace(source, { address: encodeAddress(address) }, encodeBlock(block), options)
}

/**
 * A place at a block, from the first port that answers.
 *
 * @param compares as of `pendingStateRequest`
 */
export function readPlace(
  source: ReadSource,
  place: StatePlace,
  block: string,
  { compares = false, ...options }: ReadOptions & { readonly compares?: boolean },
): Promise<Hex> {
  return firstAnswer(readPorts(source), options.signal, async (port) => {
    if (block !== 'pending') {
      const [reply] = await port.batch([plainRead(place, block)], options)
      return readPlain(place, reply)
    }
    const [value] = await readPendingState(port, profileOf(port), [place], { ...options, compares })
    return value!
  })
}
