import type { Hash, Hex } from 'viem'
import type { CountReading } from '../../ledger/evidence.js'
import { decodeData, decodeHeader, decodeNumber } from '../../rpc/codec.js'
import { isHistoryRefused } from '../../rpc/history.js'
import type { RpcReply } from '../../rpc/port.js'
import { readStatements, says } from '../../rpc/statements.js'
import { decoded } from './tickParts.js'

/** One reading of a block. A header from the RPC codec has this type. */
export type BlockReading = {
  readonly number: number | null
  readonly hash: Hash | null
  readonly parentHash: Hash
  /** The hashes of all its transactions, in lower case. */
  readonly hashes: readonly Hash[]
}

/** Reads a block. Undefined if there was no answer, none that can be decoded, or no such block. */
export function readBlock(reply: RpcReply | undefined): BlockReading | undefined {
  return decoded(reply, (result) => decodeHeader(result) ?? undefined)
}

/** Reads a count. */
export function readCount(reply: RpcReply | undefined): CountReading {
  if (reply?.ok === false) return isHistoryRefused(reply.failure) ? 'refused' : undefined
  return readNumber(reply, 'eth_getTransactionCount')
}

/**
 * Reads a count at a block named by its hash. `refused` only if the node does not support hashes at all. If a
 * node supports them but does not know the block, it is on another fork or lags, and so are its counts by
 * number.
 */
export function readCountAtHash(reply: RpcReply | undefined): CountReading {
  if (reply === undefined || reply.ok) return readCount(reply)
  const statements = readStatements(reply.failure)
  if (says(statements, UNKNOWN_BLOCK)) return undefined
  const refused = says(statements, INVALID_PARAMS) || statements.some(({ code }) => INVALID_CODES.has(code))
  return refused ? 'refused' : undefined
}

/**
 * A node without support for block hashes (EIP-1898) answers with an error: then only the counts by number
 * are used.
 */
export function unlessRefused(count: CountReading): readonly CountReading[] {
  return count === 'refused' ? [] : [count]
}

// geth "header for hash not found", "hash is not currently canonical"; reth "block not found: hash …"; anvil
// "Resource not found"; Nethermind "… could not be found"; others "unknown block".
const UNKNOWN_BLOCK = /not (?:be )?found|unknown (?:block|header)|canonical|missing/i

// JSON-RPC 2.0, section 5.1: invalid request and invalid params.
const INVALID_CODES: ReadonlySet<unknown> = new Set([-32600, -32602])
const INVALID_PARAMS =
  /invalid (?:arg|param|type|block|request|input|hex)|unmarshal|deserializ|hex string|not supported/i

/** Reads a hex quantity as a number. Undefined if there was no answer, or none that can be decoded. */
export function readNumber(reply: RpcReply | undefined, method: string): number | undefined {
  return decoded(reply, (result) => decodeNumber(result, method))
}

/**
 * Whether the code is a delegation (EIP-7702: 0xef0100 and an address); undefined without a usable answer.
 */
export function readDelegated(reply: RpcReply | undefined): boolean | undefined {
  return decoded(reply, (result) => decodeData(result, 'eth_getCode').startsWith('0xef0100'))
}

/** Requests the count at a block named by its hash (EIP-1898), which no reorg can change. */
export function countAtHash(address: Hex, blockHash: Hash) {
  return { method: 'eth_getTransactionCount', params: [address, { blockHash }] }
}
