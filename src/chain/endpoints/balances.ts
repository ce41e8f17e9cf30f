import type { Address } from 'viem'
import { type BlockSelector, balanceCall, decodeQuantity } from '../../rpc/codec.js'
import type { Port } from '../../rpc/port.js'
import { decoded } from '../blocks/tickParts.js'

/** Reads the balances of these accounts in wei, in their order, with one request; undefined for a call without an answer. */
export async function readBalances(
  port: Pick<Port, 'batch'>,
  addresses: readonly Address[],
  {
    at,
    ...options
  }: {
    readonly timeoutMs: number
    readonly at?: BlockSelector | undefined
    readonly signal?: AbortSignal | undefined
  },
): Promise<readonly (bigint | undefined)[]> {
  const replies = await port.batch(
    addresses.map((address) => balanceCall(address, at)),
    options,
  )
  return addresses.map((_, index) => decoded(replies[index], decodeQuantity))
}
