import { keccak256, stringToBytes } from 'viem'
import { isTxlaneError } from '../errors/base.js'
import { recordOf } from '../lane/transaction/record.js'
import { fromStored } from '../lane/transaction/stored.js'
import { keptReason } from '../lane/transaction/waitingFor.js'
import type { TxRecord } from '../types/index.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { StoredTransaction } from '../types/store.js'
import type { Delivery, DeliveryStage, OutboxOptions } from './types.js'

/** What a handler is given, without the receipt. */
export function deliveryOf(name: string, delivery: StoredDelivery, stored: StoredTransaction): Delivery {
  const { next, count, tries } = delivery
  const transaction = fromStored(stored)
  return {
    key: keyOf(name, delivery),
    stage: next?.stage as DeliveryStage,
    number: count + 1,
    attempt: tries + 1,
    tx: recordOf(transaction, keptReason(transaction)),
  }
}

const KEY_DIGITS = 40

/** The same for the same news, whoever tells it and however often. No caller can choose one: an id is part of a hash. */
function keyOf(name: string, { chain, id, next, count }: StoredDelivery): string {
  const { stage, life, block = null } = next ?? {}
  const text = JSON.stringify([name, chain.chainId, chain.genesisHash, id, count, stage, life, block])
  return `txn_${keccak256(stringToBytes(text)).slice(2, 2 + KEY_DIGITS)}`
}

const NEEDS_RECEIPT: ReadonlySet<DeliveryStage> = new Set(['sealed', 'settled', 'finalized'])

/**
 * With the status and costs that its receipt has, where they are missing and can be had.
 *
 * @throws where the receipt may be had later
 */
export async function withReceipt(
  delivery: Delivery,
  receipts: OutboxOptions['receipts'],
  within: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Delivery> {
  const { tx, stage } = delivery
  if (receipts === undefined || tx.status !== undefined || !NEEDS_RECEIPT.has(stage)) return delivery
  const source = typeof receipts === 'function' ? receipts(tx) : receipts
  const found = await source?.get(tx.id)
  if (found === undefined) return delivery
  try {
    await found.wait('sealed', within)
  } catch (error) {
    if (!isTxlaneError(error) || error.code !== 'NO_RECEIPT') throw error
    return delivery
  }
  return { ...delivery, tx: merged(tx, found.toJSON()) }
}

/** A receipt of another block says nothing of this one. */
function merged(tx: TxRecord, { block, status, costs, error }: TxRecord): TxRecord {
  if (block?.hash !== tx.block?.hash) return tx
  return { ...tx, ...(status && { status }), ...(costs && { costs }), ...(error && { error }) }
}
