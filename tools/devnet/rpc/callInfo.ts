import { type DecodedTx, decodeTx } from './decode.js'
import type { RpcRequest } from './rpcTypes.js'

/** A call of a client. Its signed transaction is decoded at most once, and only on demand. */
export type CallInfo = RpcRequest & { transaction(): DecodedTx | undefined }

const SENDS = new Set(['eth_sendRawTransaction', 'eth_sendRawTransactionSync'])

export function isSend(method: string): boolean {
  return SENDS.has(method)
}

export function createCallInfo({ method, params }: RpcRequest): CallInfo {
  let decoded: DecodedTx | undefined
  let looked = !isSend(method)
  return {
    method,
    params,
    transaction() {
      if (!looked) decoded = decodeTx(params[0])
      looked = true
      return decoded
    },
  }
}
