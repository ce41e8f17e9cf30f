import type { Hex } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { batchReads } from '../batchReads.js'
import { type BlockSelector, decodeObject, encodeBlock } from '../codec.js'
import { rpcError } from '../errors.js'
import type { Port } from '../port.js'
import { profileOf } from '../profileOf.js'
import { readRawReceipts } from './getBlockReceipts.js'
import type { ReadOptions } from './source.js'

const METHOD = 'eth_getTransactionReceipt'

/** A receipt as it came: formatting it is the chain's. */
export type RawReceipt = Readonly<Record<string, unknown>>

export type ReadReceiptsParameters = ReadOptions & {
  readonly hashes: readonly Hex[]
  /** The block they are in, where it is known: many receipts then cost one call. */
  readonly block?: BlockSelector | undefined
}

// Below this many, asking for each costs less than a whole block's receipts.
const WHOLE_BLOCK_MIN = 4

/**
 * Receipts by hash, `null` for a transaction that the node has none for. Asks for the whole block where the endpoint
 * allows it, else for each one, in one request. A `null` proves nothing about the transaction.
 * @throws a typed error that names the method
 */
export async function readReceipts(
  port: Port,
  { hashes, block, ...options }: ReadReceiptsParameters,
): Promise<ReadonlyMap<Hex, RawReceipt | null>> {
  const found = new Map<Hex, RawReceipt | null>()
  if (block !== undefined && hashes.length >= WHOLE_BLOCK_MIN) {
    const wanted = new Set<unknown>(hashes)
    for (const receipt of await wholeBlock(port, encodeBlock(block), options)) {
      if (wanted.has(receipt.transactionHash)) found.set(receipt.transactionHash as Hex, receipt)
    }
  }
  const missing = hashes.filter((hash) => !found.has(hash))
  const calls = missing.map((hash) => ({ method: METHOD, params: [hash] }))
  const replies = await batchReads(port, calls, { ...options, profile: profileOf(port) })
  missing.forEach((hash, index) => {
    const reply = replies[index]!
    if (!reply.ok) throw rpcError(METHOD, reply.failure)
    found.set(hash, reply.result === null ? null : decodeObject(reply.result, METHOD))
  })
  return found
}

async function wholeBlock(port: Port, block: string, options: ReadOptions): Promise<readonly RawReceipt[]> {
  if (profileOf(port).current().blockReceipts === false) return []
  try {
    return (await readRawReceipts(port, block, options)) ?? []
  } catch (error) {
    if (isTxlaneError(error) && error.code === 'UNSUPPORTED') return []
    throw error
  }
}
