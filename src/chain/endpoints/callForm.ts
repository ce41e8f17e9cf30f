import { type Chain, type Hex, numberToHex, type TransactionRequest } from 'viem'
import { formatTransactionRequest } from 'viem/utils'
import type { TxRequest } from '../../types/index.js'

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
