import { type Address, type Chain, type FormattedBlock, formatBlock, type Hash, type Hex } from 'viem'
import { invalid } from '../../errors/invalid.js'
import {
  type BlockSelector,
  decodeHash,
  decodeHashes,
  decodeHashOrNull,
  decodeObject,
  decodeQuantity,
  encodeBlock,
} from '../codec.js'
import { malformed } from '../errors.js'
import { BLOCK, decodeArray, decodeFields, type Formatters, formatWith, isNone } from './fields.js'
import { formattersOf, type ReadOptions, type ReadSource, readOne } from './source.js'
import { type BlockTransaction, decodeTransaction } from './transactions.js'

const METHOD = 'eth_getBlockByNumber'

export type GetBlockByNumberParameters<full extends boolean = false> = ReadOptions & {
  /** A number (hex, bigint or number) or a tag. `pending` is the block being built. */
  readonly block: BlockSelector
  /** Full transaction objects in place of hashes. @default false */
  readonly fullTransactions?: full | undefined
}

/** Described in `public.ts`. */
export async function getBlockByNumber<
  full extends boolean = false,
  chain extends Chain | undefined = undefined,
>(
  source: ReadSource<chain>,
  parameters: GetBlockByNumberParameters<full>,
): Promise<Block<full, chain> | null> {
  const { block: selector, fullTransactions = false, ...options } = parameters
  const block = encodeBlock(selector)
  if (typeof fullTransactions !== 'boolean') throw invalid('fullTransactions', fullTransactions, 'a boolean')
  return readOne(source, { method: METHOD, params: [block, fullTransactions] }, options, (result) => {
    if (result === null) return null
    const decoded = decodeBlock<full, chain>(result, METHOD, fullTransactions as full, formattersOf(source))
    if (block !== 'pending') checkSealed(decoded, block)
    return decoded
  })
}

/**
 * Checks that only a pending block lacks number and hash, and that a block requested by number has that
 * number.
 */
function checkSealed({ number, hash }: BlockPlace, asked: string): void {
  if (number === null) throw malformed(METHOD, 'number is missing from a sealed block')
  if (hash === null) throw malformed(METHOD, 'hash is missing from a sealed block')
  if (asked.startsWith('0x') && number !== BigInt(asked)) {
    throw malformed(METHOD, `number is ${number}, not that of the requested block`)
  }
}

type BlockPlace = {
  /** `null` if the node gives its pending block no number. */
  readonly number: bigint | null
  /** `null` if the pending block has no hash or 32 zero bytes; otherwise the hash of the partial block. */
  readonly hash: Hash | null
}

/** Fields that a pending block may lack, and fields for which viem has no type. */
type OwnFields = BlockPlace & {
  readonly nonce: Hex | null
  readonly logsBloom: Hex | null
  /** The size in bytes. Missing in pending blocks of some nodes. */
  readonly size?: bigint | undefined
  /** geth blanks it in pending blocks. */
  readonly miner?: Address | undefined
  readonly stateRoot?: Hash | undefined
  readonly receiptsRoot?: Hash | undefined
  readonly transactionsRoot?: Hash | undefined
  readonly mixHash?: Hash | undefined
  readonly sha3Uncles?: Hash | undefined
  readonly extraData?: Hex | undefined
  readonly difficulty?: bigint | undefined
  readonly blobGasUsed?: bigint | undefined
  readonly excessBlobGas?: bigint | undefined
  readonly uncles?: readonly Hash[] | undefined
  /** The hash of the requests of the execution layer (EIP-7685), since Prague. */
  readonly requestsHash?: Hash | undefined
  /** Milliseconds since the epoch. Base shows them since its upgrade Denim; other chains have none. */
  readonly timestampMs?: bigint | undefined
}

/**
 * A block as viem's formatter, or that of the client's chain, returns it, with the fields that real pending
 * blocks have or lack. Fields without a decoder are left as the node returned them.
 */
export type Block<full extends boolean = boolean, chain extends Chain | undefined = undefined> = Omit<
  FormattedBlock<chain, full>,
  keyof OwnFields | 'transactions' | 'sealFields'
> &
  OwnFields & {
    readonly transactions: full extends true ? readonly BlockTransaction<chain>[] : readonly Hash[]
  }

/**
 * Decodes a block. Strict about required fields and about the type of each field; tolerates fields that
 * pending blocks lack.
 *
 * @throws a typed error that names the method and the field
 */
export function decodeBlock<full extends boolean, chain extends Chain | undefined = undefined>(
  result: unknown,
  method: string,
  full: full,
  formatters: Formatters | undefined,
): Block<full, chain> {
  const raw = decodeObject(result, method)
  const own = decodeFields(raw, BLOCK, method)
  const required = {
    number: isNone(raw.number) ? null : decodeQuantity(raw.number, method, 'number'),
    hash: decodeHashOrNull(raw.hash, method, 'hash'),
    parentHash: decodeHash(raw.parentHash, method, 'parentHash'),
    timestamp: decodeQuantity(raw.timestamp, method, 'timestamp'),
    gasLimit: decodeQuantity(raw.gasLimit, method, 'gasLimit'),
    gasUsed: decodeQuantity(raw.gasUsed, method, 'gasUsed'),
    transactions: full
      ? decodeArray(raw.transactions, method, 'transactions').map((item) =>
          decodeTransaction(item, method, formatters),
        )
      : decodeHashes(raw.transactions, method),
  }
  const format = formatters?.block?.format ?? formatBlock
  const block = {
    ...formatWith(format, { ...raw, transactions: [] }, method, 'the block'),
    ...own,
    ...required,
    // viem has null for these.
    nonce: own.nonce ?? null,
    logsBloom: own.logsBloom ?? null,
    baseFeePerGas: own.baseFeePerGas ?? null,
    totalDifficulty: own.totalDifficulty ?? null,
  }
  return block as unknown as Block<full, chain>
}
