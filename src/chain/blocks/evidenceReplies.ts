import type { Hash, Hex } from 'viem'
import type { CountReading } from '../../ledger/evidence.js'
import { decodeData, decodeHeader, decodeNumber } from '../../rpc/codec.js'
import { isHistoryRefused } from '../../rpc/history.js'
import type { RpcReply } from '../../rpc/port.js'
import { readStatements, says } from '../../rpc/statements.js'

/** One reading of a block. What the RPC codec decodes fits as it is. */
export type BlockReading = {
  readonly number: number | null
  readonly hash: Hash | null
  readonly parentHash: Hash
  /** Of all its transactions, in lower case. */
  readonly hashes: readonly Hash[]
}

/** A block as read; undefined where there was no answer, none that can be decoded, or no such block. */
export function readBlock(reply: RpcReply | undefined): BlockReading | undefined {
  return decoded(reply, (result) => decodeHeader(result) ?? undefined)
}

/** A count as read. */
export function readCount(reply: RpcReply | undefined): CountReading {
  if (reply?.ok === false) return isHistoryRefused(reply.failure) ? 'refused' : undefined
  return readNumber(reply, 'eth_getTransactionCount')
}

/**
 * A count at a block named by its hash. `refused` only where the node does not take hashes at all: one that does and
 * does not know the block is on another fork, or behind, and so are the counts that it gave by number.
 */
export function readCountAtHash(reply: RpcReply | undefined): CountReading {
  if (reply === undefined || reply.ok) return readCount(reply)
  const statements = readStatements(reply.failure)
  if (says(statements, UNKNOWN_BLOCK)) return undefined
  const refused = says(statements, INVALID_PARAMS) || statements.some(({ code }) => INVALID_CODES.has(code))
  return refused ? 'refused' : undefined
}

// geth "header for hash not found", "hash is not currently canonical"; reth "block not found: hash …"; anvil
// "Resource not found"; Nethermind "… could not be found"; others "unknown block".
const UNKNOWN_BLOCK = /not (?:be )?found|unknown (?:block|header)|canonical|missing/i

// JSON-RPC 2.0, section 5.1: invalid request and invalid params.
const INVALID_CODES: ReadonlySet<unknown> = new Set([-32600, -32602])
const INVALID_PARAMS =
  /invalid (?:arg|param|type|block|request|input|hex)|unmarshal|deserializ|hex string|not supported/i

/** A hex quantity as a number; undefined where there was no answer or none that can be decoded. */
export function readNumber(reply: RpcReply | undefined, method: string): number | undefined {
  return decoded(reply, (result) => decodeNumber(result, method))
}

/** Whether the code is that of a delegation (EIP-7702: 0xef0100 and an address); undefined without a usable answer. */
export function readDelegated(reply: RpcReply | undefined): boolean | undefined {
  return decoded(reply, (result) => decodeData(result, 'eth_getCode').startsWith('0xef0100'))
}

/** The count at a block named by its hash (EIP-1898), which no reorg can change. */
export function countAtHash(address: Hex, blockHash: Hash) {
  return { method: 'eth_getTransactionCount', params: [address, { blockHash }] }
}

// What cannot be decoded is an answer that was not had.
function decoded<t>(reply: RpcReply | undefined, decode: (result: unknown) => t): t | undefined {
  if (!reply?.ok) return undefined
  try {
    return decode(reply.result)
  } catch {
    return undefined
  }
}
