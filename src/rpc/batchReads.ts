import { decodeNumber } from './codec.js'
import { chainMismatch, resultOf } from './errors.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from './port.js'

export type BatchReadsOptions = BatchOptions & {
  /**
   * If given, the batch also asks for the chain id, because an endpoint may have moved to another chain since
   * it was probed.
   */
  readonly chainId?: number | undefined
}

const CHAIN_ID: RpcCall = { method: 'eth_chainId', params: [] }

/**
 * Reads in order, in one request if the port accepts batches of that size.
 *
 * @throws with `chainId` only: `CHAIN_MISMATCH`, or a typed error if the endpoint does not report its chain
 */
export async function batchReads(
  port: Port,
  calls: readonly RpcCall[],
  { chainId, ...options }: BatchReadsOptions = {},
): Promise<readonly RpcReply[]> {
  if (calls.length === 0) return []
  if (chainId === undefined) return port.batch(calls, options)
  const replies = [...(await port.batch([...calls, CHAIN_ID], options))]
  const shown = decodeNumber(resultOf(CHAIN_ID.method, replies.pop()), CHAIN_ID.method)
  if (shown !== chainId) throw chainMismatch(port.name, 'chain id', `${chainId}`, `${shown}`)
  return replies
}
