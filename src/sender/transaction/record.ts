import { type Address, getAddress } from 'viem'
import type { Fees } from '../../ledger/fees.js'
import type { TxRecord, WaitReason } from '../../types.js'
import { describe, type Transaction } from './transaction.js'

/** What callers may store and print of it. `waitingFor`: why it is not further yet. */
export function recordOf(
  transaction: Transaction,
  waitingFor: WaitReason | undefined,
  replaces = transaction.replaces?.id,
): TxRecord {
  const { lane, request, status, failure, endKept, fees } = transaction
  const gas = transaction.gas ?? request.gas
  const block = transaction.block ?? transaction.keptBlock
  const { id, ...place } = describe(transaction)
  return {
    id,
    chainId: lane.chainId,
    from: getAddress(lane.address),
    ...(request.to ? { to: request.to as Address } : {}),
    value: `${request.value ?? 0n}`,
    ...place,
    ...(block === undefined ? {} : { block: { number: block.number, hash: block.hash } }),
    ...(status === undefined ? {} : { status }),
    ...(failure && endKept ? { error: errorOf(failure) } : {}),
    ...(gas === undefined ? {} : { gas: `${gas}` }),
    ...(fees === undefined ? {} : { fees: feesOf(fees) }),
    ...(replaces === undefined ? {} : { replaces }),
    createdAt: new Date(transaction.createdAtMs).toISOString(),
    ...(waitingFor === undefined ? {} : { waitingFor: waitingFor.sentence }),
  }
}

function errorOf({
  code,
  fate,
  shortMessage,
}: NonNullable<Transaction['failure']>): NonNullable<TxRecord['error']> {
  return { code, fate, message: shortMessage }
}

function feesOf(fees: Fees): NonNullable<TxRecord['fees']> {
  if ('gasPrice' in fees) return { gasPrice: `${fees.gasPrice}` }
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  return { maxFeePerGas: `${maxFeePerGas}`, maxPriorityFeePerGas: `${maxPriorityFeePerGas}` }
}
