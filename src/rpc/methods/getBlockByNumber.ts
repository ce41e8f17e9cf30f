import { invalid } from '../../errors/invalid.js'
import { type BlockSelector, encodeBlock } from '../codec.js'
import { malformed } from '../errors.js'
import { type Block, decodeBlock } from './decodeBlock.js'
import { type ReadOptions, type ReadSource, readOne } from './source.js'

const METHOD = 'eth_getBlockByNumber'

export type GetBlockByNumberParameters<full extends boolean = false> = ReadOptions & {
  /** A number (hex, bigint or number) or a tag. `pending`: the block being built. */
  readonly block: BlockSelector
  /** Full transaction objects in place of hashes. @default false */
  readonly fullTransactions?: full | undefined
}

/** Described in `public.ts`. */
export async function getBlockByNumber<full extends boolean = false>(
  source: ReadSource,
  parameters: GetBlockByNumberParameters<full>,
): Promise<Block<full> | null> {
  const { block: selector, fullTransactions = false, ...options } = parameters
  const block = encodeBlock(selector)
  if (typeof fullTransactions !== 'boolean') throw invalid('fullTransactions', fullTransactions, 'a boolean')
  return readOne(source, { method: METHOD, params: [block, fullTransactions] }, options, (result) => {
    if (result === null) return null
    const decoded = decodeBlock(result, METHOD, fullTransactions as full)
    if (block !== 'pending') checkSealed(decoded, block)
    return decoded
  })
}

/** Only a pending block may lack number and hash, and a block asked for by number must be that one. */
function checkSealed({ number, hash }: Block, asked: string): void {
  if (number === null) throw malformed(METHOD, 'number is missing from a sealed block')
  if (hash === null) throw malformed(METHOD, 'hash is missing from a sealed block')
  if (asked.startsWith('0x') && number !== BigInt(asked)) {
    throw malformed(METHOD, `number is ${number}, of another block than the one asked for`)
  }
}
