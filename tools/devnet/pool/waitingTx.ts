import type { DecodedTx } from '../rpc/decode.js'
import { hexOf, type RpcObject } from '../rpc/rpcTypes.js'
import type { PooledTx } from './poolBook.js'

const TYPES = { legacy: '0x0', eip2930: '0x1', eip1559: '0x2', eip7702: '0x4' }

/** A waiting transaction in the format of `eth_getTransactionByHash`. */
export function waitingTx({ tx, from }: PooledTx): RpcObject {
  return {
    type: TYPES[tx.type],
    ...(tx.chainId === undefined ? {} : { chainId: hexOf(tx.chainId) }),
    hash: tx.hash,
    nonce: hexOf(tx.nonce),
    blockHash: null,
    blockNumber: null,
    transactionIndex: null,
    from,
    to: tx.to ?? null,
    value: hexOf(tx.value),
    gas: hexOf(tx.gas),
    gasPrice: hexOf(tx.gasPrice ?? tx.maxFeePerGas),
    ...feesOf(tx),
    input: tx.data,
    ...(tx.type === 'legacy' ? {} : { accessList: tx.accessList, yParity: hexOf(tx.signature.yParity) }),
    v: hexOf(tx.type === 'legacy' ? legacyV(tx) : tx.signature.yParity),
    r: tx.signature.r,
    s: tx.signature.s,
  }
}

function feesOf(tx: DecodedTx): RpcObject {
  if (tx.gasPrice !== undefined) return {}
  return { maxFeePerGas: hexOf(tx.maxFeePerGas), maxPriorityFeePerGas: hexOf(tx.maxPriorityFeePerGas) }
}

function legacyV({ chainId, signature }: DecodedTx): number {
  return chainId === undefined ? 27 + signature.yParity : chainId * 2 + 35 + signature.yParity
}
