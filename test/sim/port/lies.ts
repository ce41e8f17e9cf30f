import type { RpcCall, RpcReply } from '../../../src/rpc/port.js'
import { decodeTransaction } from '../transaction.js'
import { error, ok } from './answer.js'

const BLOCK = 'eth_getBlockByNumber'
const COUNT = ok('0x64')

/**
 * An endpoint of our chain that invents blocks far ahead and counts, and returns the hashes of transactions
 * that it drops.
 */
export function lie({ method, params }: RpcCall): RpcReply | undefined {
  if (method === 'eth_sendRawTransaction') return ok(decodeTransaction(String(params[0]))?.hash)
  if (method === 'eth_getTransactionCount') return COUNT
  const tag = typeof params[0] === 'string' && !params[0].startsWith('0x')
  return method === BLOCK && (tag || Number(params[0]) > 0) ? ok(invented(params[0], 100_000)) : undefined
}

/** An endpoint of another chain. */
export function stray({ method, params }: RpcCall): RpcReply | undefined {
  if (method === 'eth_chainId') return ok('0x2a')
  // geth core/types/transaction_signing.go
  if (method === 'eth_sendRawTransaction') return error(-32000, 'invalid chain id for signer: have 1 want 42')
  if (method === 'eth_getTransactionCount') return COUNT
  return method === BLOCK ? ok(invented(params[0], 500_000)) : undefined
}

function invented(block: unknown, height: number): object {
  const tags: Record<string, number> = {
    latest: height,
    pending: height + 1,
    safe: height,
    finalized: height,
  }
  const number = tags[String(block)] ?? Number(block)
  const hashOf = (of: number) => `0x${(0xbad0000000 + height + of).toString(16).padStart(64, '0')}`
  return {
    number: `0x${number.toString(16)}`,
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    timestamp: '0x1',
    gasLimit: '0x1c9c380',
    gasUsed: '0x0',
    baseFeePerGas: '0x7',
    transactions: [],
  }
}
