import { type Chain, type Hex, isHex, numberToHex, type TransactionRequest } from 'viem'
import { formatTransactionRequest } from 'viem/utils'
import { rpcErrorOf } from '../../rpc/errors.js'
import type { TxRequest } from '../../types/index.js'
import type { EndpointPool } from './endpointPool.js'

/** The request in the wire form of the chain. It has no fees, because with fees nodes also check the balance. */
export function formatted(chain: Chain, request: TxRequest, from: Hex): object {
  const { gas, ...rest } = request as TxRequest & Record<string, unknown>
  const fields = { ...rest, from } as Record<string, unknown>
  for (const key of ['gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'account', 'authorize', 'chain']) {
    delete fields[key]
  }
  const format = chain.formatters?.transactionRequest?.format ?? formatTransactionRequest
  const wire = format(fields as TransactionRequest, 'estimateGas') as Record<string, unknown>
  return gas === undefined ? wire : { ...wire, gas: numberToHex(gas) }
}

/** The length of a custom error with thirty words. Longer data is dropped: its beginning cannot be decoded. */
export const DATA_CHARS_MAX = 2_048

/**
 * The return data of a reverted transaction, which no receipt contains: the call is repeated on the state after its block.
 * Undefined if the node has pruned the state or cuts the answer. Other transactions of the block may have changed the reason.
 * Never rejects.
 */
export async function replay(
  { reader, chain }: Pick<EndpointPool, 'reader' | 'chain'>,
  run: { readonly request: TxRequest; readonly from: Hex; readonly gas: bigint | undefined },
  at: { readonly block: number; readonly timeoutMs: number },
): Promise<Hex | undefined> {
  const { request, from, gas } = run
  const call = formatted(chain, { ...request, gas: gas ?? request.gas } as TxRequest, from)
  const [reply] = await reader.port.batch([{ method: 'eth_call', params: [call, numberToHex(at.block)] }], {
    timeoutMs: at.timeoutMs,
  })
  if (reply === undefined || reply.ok) return undefined
  return dataOf(rpcErrorOf(reply.failure)?.data)
}

/** Plain, or one object deeper as in Hardhat and Ganache. */
function dataOf(data: unknown): Hex | undefined {
  if (typeof data === 'object' && data !== null) {
    const { data: inner, result } = data as { data?: unknown; result?: unknown }
    return dataOf(inner ?? result)
  }
  return isHex(data) && data.length > 2 && data.length <= DATA_CHARS_MAX ? data : undefined
}
