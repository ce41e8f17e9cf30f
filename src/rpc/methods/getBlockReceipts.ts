import {
  type Chain,
  type FormattedTransactionReceipt,
  formatTransactionReceipt,
  type Hash,
  type Log,
  type TransactionReceipt,
} from 'viem'
import {
  type BlockSelector,
  decodeHash,
  decodeHashOrNull,
  decodeObject,
  decodeQuantity,
  encodeBlock,
} from '../codec.js'
import { malformed } from '../errors.js'
import {
  decodeArray,
  decodeFields,
  type Formatters,
  formatWith,
  isNone,
  LOG,
  MILLISECONDS,
  RECEIPT,
} from './fields.js'
import { type RawReceipt, readRawReceipts } from './receipts.js'
import { firstAnswer, formattersOf, type ReadOptions, type ReadSource, readPorts } from './source.js'
import type { Milliseconds } from './transactions.js'

const METHOD = 'eth_getBlockReceipts'

export type GetBlockReceiptsParameters = ReadOptions & {
  /**
   * A number (hex, bigint or number) or a tag. `pending` gives the receipts of the transactions pre-confirmed
   * so far.
   */
  readonly block: BlockSelector
}

/** A log, whose block may not be sealed. */
export type BlockLog = Omit<Log, 'blockHash' | 'blockNumber'> &
  Milliseconds & {
    /** `null` before the block is sealed: nodes send null or 32 zero bytes. */
    readonly blockHash: Hash | null
    readonly blockNumber: bigint | null
  }

type OwnFields = Milliseconds & {
  /** `null` if the node omits it before the block is sealed. */
  readonly blockNumber: bigint | null
  /** `null` before the block is sealed: real nodes send null or 32 zero bytes. */
  readonly blockHash: Hash | null
  /** `null` if the node sends none (before Byzantium). */
  readonly status: TransactionReceipt['status'] | null
  readonly logs: readonly BlockLog[]
}

/**
 * A receipt as viem's formatter, or that of the client's chain (`l1Fee` on the OP stack), returns it. Fields
 * without a decoder are left as the node returned them.
 */
export type BlockReceipt<chain extends Chain | undefined = undefined> = Omit<
  FormattedTransactionReceipt<chain>,
  keyof OwnFields
> &
  OwnFields

/** Described in `public.ts`. */
export async function getBlockReceipts<chain extends Chain | undefined = undefined>(
  source: ReadSource<chain>,
  { block: selector, ...options }: GetBlockReceiptsParameters,
): Promise<readonly BlockReceipt<chain>[] | null> {
  const block = encodeBlock(selector)
  const raw = await firstAnswer(readPorts(source), options.signal, (port) =>
    readRawReceipts(port, block, options),
  )
  const formatters = formattersOf(source)
  return raw === null ? null : raw.map((one) => decodeReceipt<chain>(one, formatters))
}

/** The formatter of the chain decides which fields a receipt has: `l1Fee` on the OP stack, for example. */
export function formatReceipt(raw: RawReceipt, formatters: Formatters | undefined): TransactionReceipt {
  const format: (raw: never, action?: string) => unknown =
    formatters?.transactionReceipt?.format ?? formatTransactionReceipt
  return format(raw as never, 'getTransactionReceipt') as TransactionReceipt
}

function decodeReceipt<chain extends Chain | undefined>(
  raw: RawReceipt,
  formatters: Formatters | undefined,
): BlockReceipt<chain> {
  const transactionHash = decodeHash(raw.transactionHash, METHOD, 'transactionHash')
  const gasUsed = decodeQuantity(raw.gasUsed, METHOD, 'gasUsed')
  checkStatus(raw.status)
  const { blockTimestamp, ...own } = decodeFields(raw, RECEIPT, METHOD, ' of a receipt')
  const logs = isNone(raw.logs) ? undefined : decodeArray(raw.logs, METHOD, 'logs').map(decodeLog)
  const formatted = formatWith((each) => formatReceipt(each, formatters), raw, METHOD, 'a receipt')
  const receipt = {
    ...formatted,
    transactionHash,
    gasUsed,
    blockHash: decodeHashOrNull(raw.blockHash, METHOD, 'blockHash'),
    // viem types it, and its formatter leaves the quantity.
    ...(blockTimestamp === undefined ? {} : { blockTimestamp }),
    ...millisecondsOf(own),
    ...(logs === undefined
      ? {}
      : { logs: (formatted.logs as object[]).map((log, at) => ({ ...log, ...logs[at] })) }),
  }
  return receipt as unknown as BlockReceipt<chain>
}

function decodeLog(item: unknown): object {
  const raw = decodeObject(item, METHOD, 'a log')
  const decoded = decodeFields(raw, LOG, METHOD, ' of a log')
  return {
    blockHash: decodeHashOrNull(raw.blockHash, METHOD, 'blockHash of a log'),
    ...millisecondsOf(decoded),
  }
}

function millisecondsOf(decoded: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.keys(MILLISECONDS).flatMap((name) => (decoded[name] === undefined ? [] : [[name, decoded[name]]])),
  )
}

function checkStatus(value: unknown): void {
  if (!isNone(value) && decodeQuantity(value, METHOD, 'status') > 1n)
    throw malformed(METHOD, 'status is neither 0x0 nor 0x1')
}
