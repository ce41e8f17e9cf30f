import type { Address } from 'viem'
import { decodeQuantity } from '../../rpc/codec.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'

const METHOD = 'eth_getBalance'

export const balanceCall = (address: Address): RpcCall => ({ method: METHOD, params: [address, 'latest'] })

/** In wei. Undefined where there is no answer, or one that is no number. */
export function balanceOf(reply: RpcReply | undefined): bigint | undefined {
  if (!reply?.ok) return undefined
  try {
    return decodeQuantity(reply.result, METHOD)
  } catch {
    return undefined
  }
}
