import type { Hex } from 'viem'
import { TRANSACTION } from '../../validate/stageOrder.js'
import type { Transaction } from './transaction.js'

/** The internal record of a public `Tx`; undefined for any other value. */
export function transactionOf(tx: unknown): Transaction | undefined {
  return (tx as { [TRANSACTION]?: () => Transaction } | null | undefined)?.[TRANSACTION]?.()
}

/**
 * Option of `send`, for adapters: the caller waits for the receipt, for this many milliseconds. An endpoint may
 * then answer the send with it.
 */
export const RECEIPT_WITHIN: unique symbol = Symbol.for('txlane.receiptWithin') as never

export type ReceiptWithin = { readonly [RECEIPT_WITHIN]?: number }

/**
 * Symbol under which a public `Tx` exposes the signed bytes of its newest attempt, by a function like
 * `TRANSACTION`.
 */
export const RAW: unique symbol = Symbol.for('txlane.raw') as never

/**
 * Returns undefined if the value is not a `Tx`, if another process owns the lane, or once the nonce is final.
 */
export function rawOf(tx: unknown): Hex | undefined {
  return (tx as { [RAW]?: () => Hex | undefined } | null | undefined)?.[RAW]?.()
}
