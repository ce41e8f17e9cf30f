import { type Address, encodeFunctionData, type Hex } from 'viem'
import type { Money, Row } from '../file/rows.js'
import { DISPERSE } from './contract/contract.js'

/** The request of one transaction. */
export type Request = Row['request']

/** A transfer of native currency or of its token. Any other row is a call. */
export function isPayment({ money, request, to, amount }: Row): boolean {
  if (money.kind === 'native') return (request.data ?? '0x') === '0x'
  return (
    isSame(request.to, money.address) &&
    request.value === 0n &&
    request.data?.toLowerCase() === transferData(to, amount)
  )
}

/** `transfer(to, amount)`. viem would take seconds to encode a long file. */
function transferData(to: Address, amount: bigint): Hex {
  return `0xa9059cbb${to.slice(2).toLowerCase().padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`
}

const isSame = (a: Address, b: Address): boolean => a.toLowerCase() === b.toLowerCase()

/**
 * Whether a contract can make the payment: the row has no gas limit of its own, and the recipient is not one of
 * the parties of the transaction.
 */
export function isPackable(row: Row, parties: readonly Address[]): boolean {
  if (row.request.gas !== undefined || row.amount === 0n) return false
  const others = row.money.kind === 'token' ? [...parties, row.money.address] : parties
  return !others.some((party) => isSame(party, row.to))
}

export const sumOf = (rows: readonly Row[]): bigint => rows.reduce((sum, { amount }) => sum + amount, 0n)

/** The transaction that pays the rows, which have one currency. */
export function packRequest(disperse: Address, money: Money, rows: readonly Row[]): Request {
  const [to, amounts] = [rows.map((row) => row.to), rows.map((row) => row.amount)]
  if (money.kind === 'native') {
    const data = encodeFunctionData({ abi: DISPERSE, functionName: 'disperseEther', args: [to, amounts] })
    return { to: disperse, value: sumOf(rows), data }
  }
  const args = [money.address, to, amounts] as const
  const data = encodeFunctionData({ abi: DISPERSE, functionName: 'disperseTokenSimple', args })
  return { to: disperse, value: 0n, data }
}
