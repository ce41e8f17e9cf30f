import { keccak256, stringToBytes } from 'viem'
import { isTxlaneError } from '../errors/base.js'
import { recordOf } from '../lane/transaction/record.js'
import { fromStored } from '../lane/transaction/stored.js'
import { storedReason } from '../lane/transaction/waitingFor.js'
import type { Clock } from '../platform/clock.js'
import type { TxRecord } from '../types/index.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { StoredTransaction } from '../types/store.js'
import { type Failure, failureOf } from './deliveryError.js'
import type { OutboxSettings } from './options.js'
import type { Delivery, DeliveryStage, OutboxOptions } from './types.js'

/** The calls of the handler, each within its timeout. */
export type HandlerCalls = {
  /** Calls the handler. Resolves with its failure; undefined if it accepted the delivery, or was aborted. */
  call(delivery: StoredDelivery, record: StoredTransaction): Promise<Failure | undefined>
  /** True once no more calls may start. */
  readonly isClosed: boolean
  /** True once the results of running calls are to be ignored. */
  readonly isStopped: boolean
  /** No more calls may start. Running ones continue. */
  close(): void
  /** As `close`, and aborts the running calls. */
  stop(): void
}

export function createHandlerCalls(clock: Pick<Clock, 'setTimer'>, settings: OutboxSettings): HandlerCalls {
  const { name, receipts, timeoutMs, onStage } = settings
  const controllers = new Set<AbortController>()
  let isClosed = false
  let isStopped = false

  function call(delivery: StoredDelivery, record: StoredTransaction): Promise<Failure | undefined> {
    const controller = new AbortController()
    const { signal } = controller
    controllers.add(controller)
    return new Promise<Failure | undefined>((resolve) => {
      const cancel = clock.setTimer(() => {
        resolve(failureOf(new Error(`No answer in ${timeoutMs} ms.`)))
        controller.abort()
      }, timeoutMs)
      signal.addEventListener('abort', () => resolve(undefined))
      handle(delivery, record, signal)
        .then(
          () => resolve(undefined),
          (error: unknown) => resolve(failureOf(error)),
        )
        .finally(cancel)
    }).finally(() => controllers.delete(controller))
  }

  async function handle(
    delivery: StoredDelivery,
    record: StoredTransaction,
    signal: AbortSignal,
  ): Promise<void> {
    const plain = deliveryOf(name, delivery, record)
    const whole = await withReceipt(plain, receipts, { timeoutMs, signal })
    if (!signal.aborted) await onStage(whole, { signal })
  }

  return {
    call,
    get isClosed() {
      return isClosed
    },
    get isStopped() {
      return isStopped
    },
    close() {
      isClosed = true
    },
    stop() {
      isStopped = isClosed = true
      for (const controller of controllers) controller.abort()
    },
  }
}

/** The delivery that the handler gets, without the receipt. */
function deliveryOf(name: string, delivery: StoredDelivery, stored: StoredTransaction): Delivery {
  const { next, count, tries } = delivery
  const transaction = fromStored(stored)
  return {
    key: keyOf(name, delivery),
    stage: next?.stage as DeliveryStage,
    number: count + 1,
    attempt: tries + 1,
    tx: recordOf(transaction, storedReason(transaction)),
  }
}

const KEY_DIGITS = 40

/**
 * The key is the same for every repetition of a delivery, from any process. A caller cannot choose a key,
 * because an id is only a part of the hash.
 */
function keyOf(name: string, { chain, id, next, count }: StoredDelivery): string {
  const { stage, life, block = null } = next ?? {}
  const text = JSON.stringify([name, chain.chainId, chain.genesisHash, id, count, stage, life, block])
  return `txn_${keccak256(stringToBytes(text)).slice(2, 2 + KEY_DIGITS)}`
}

const NEEDS_RECEIPT: ReadonlySet<DeliveryStage> = new Set(['sealed', 'settled', 'finalized'])

/**
 * Adds the status and costs of the receipt, if they are missing and a receipt is available.
 *
 * @throws if the receipt may become available later
 */
async function withReceipt(
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

/** A receipt from another block does not apply to this one. */
function merged(tx: TxRecord, { block, status, costs, error }: TxRecord): TxRecord {
  if (block?.hash !== tx.block?.hash) return tx
  return { ...tx, ...(status && { status }), ...(costs && { costs }), ...(error && { error }) }
}
