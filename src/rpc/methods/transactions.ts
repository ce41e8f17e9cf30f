import {
  type Chain,
  type ExtractChainFormatterReturnType,
  formatTransaction,
  type Hash,
  type Transaction,
} from 'viem'
import { decodeHash, decodeHashOrNull, decodeObject } from '../codec.js'
import { decodeFields, type Formatters, formatWith, MILLISECONDS, TRANSACTION } from './fields.js'

/** Milliseconds since the epoch. Base shows them since its upgrade Denim; other chains have none. */
export type Milliseconds = {
  readonly timestampMs?: bigint | undefined
  readonly blockTimestampMs?: bigint | undefined
}

/** The place of a transaction, which a pending block may not show. */
type Place = {
  /** `null` before the block is sealed: nodes send null or 32 zero bytes. */
  readonly blockHash: Hash | null
  readonly blockNumber: bigint | null
  readonly transactionIndex: number | null
}

type OmitOfEach<union, key extends PropertyKey> = union extends unknown ? Omit<union, key> : never

/**
 * A transaction as viem's formatter, or that of the chain, returns it: one type of object for each transaction
 * type, and `deposit` for those of the OP stack. Fields without a decoder are left as the node returned them.
 */
export type BlockTransaction<chain extends Chain | undefined = undefined> = OmitOfEach<
  ExtractChainFormatterReturnType<chain, 'transaction', Transaction>,
  keyof Place
> &
  Place &
  Milliseconds

/** @throws a typed error that names the method and the field */
export function decodeTransaction(item: unknown, method: string, formatters: Formatters | undefined): object {
  const raw = decodeObject(item, method, 'a transaction')
  const hash = decodeHash(raw.hash, method, 'a transaction hash')
  decodeFields(raw, TRANSACTION, method, ' of a transaction')
  const format = formatters?.transaction?.format ?? formatTransaction
  return {
    ...formatWith(format, raw, method, 'a transaction'),
    ...decodeFields(raw, MILLISECONDS, method),
    hash,
    blockHash: decodeHashOrNull(raw.blockHash, method, 'blockHash of a transaction'),
  }
}
