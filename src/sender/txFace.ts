import type { Address, Chain, FeeValues } from 'viem'
import type { CancelResult, SendOptions, Tx, TxRequest, WaitOptions, WaitStage } from '../types.js'
import { describe, faceOf, shownStage, type Transaction } from './transaction.js'
import type { Stop } from './unlessStopped.js'
import {
  checkAccountOf,
  checkFees,
  checkRequest,
  checkSendOptions,
  checkWait,
  unsupported,
} from './validate.js'
import { checkOpen, checkWatched } from './verdicts.js'
import type { Waiting } from './waiting.js'

/**
 * What can be done with a transaction: by the holder of its lane itself, elsewhere by way of the store. What cannot work
 * was refused before.
 */
export type TxOperations = {
  cancel(transaction: Transaction): Promise<CancelResult>
  replace(transaction: Transaction, request: TxRequest, options: SendOptions): Promise<Transaction>
  /** The caller's signal says that it is not wanted any more. */
  abort(transaction: Transaction): void
  speedUp(transaction: Transaction, wanted: Partial<FeeValues> | undefined): Promise<void>
  attempts(transaction: Transaction): Tx['attempts']
}

/**
 * The public face of transactions: one object for each, whose fields show what is known now, whoever works the lane by
 * then.
 */
export function createTxFace(parts: {
  readonly chain: Chain
  readonly address: Address
  /** After it nobody of this process does anything for a transaction. */
  readonly closing: Stop
  readonly operations: () => TxOperations
  readonly waiting: () => Waiting
}): (transaction: Transaction) => Tx {
  const { chain, address, closing, operations, waiting } = parts
  const faces = new WeakMap<Transaction, Tx>()

  return function face(transaction) {
    const known = faces.get(transaction)
    if (known) return known
    const tx: Tx = {
      get id() {
        return transaction.id
      },
      get stage() {
        return shownStage(transaction)
      },
      get nonce() {
        return transaction.nonce
      },
      get hash() {
        return transaction.hash
      },
      get attempts() {
        return operations().attempts(transaction)
      },
      async wait(stage: WaitStage = 'sealed', options: WaitOptions = {}) {
        checkWait(stage, options)
        return waiting().wait(transaction, stage, options)
      },
      cancel: () => operations().cancel(transaction),
      async replace(request, options = {}) {
        checkRequest(request, chain)
        checkAccountOf(request, address)
        checkSendOptions(options)
        checkOpen(transaction, 'replace')
        checkWatched(transaction, closing)
        const replacement = await operations().replace(transaction, request, options)
        if (options.until !== 'queued') await waiting().accepted(replacement)
        return face(replacement)
      },
      async speedUp(fees) {
        if (fees !== undefined) checkFees(fees)
        checkOpen(transaction, 'bump')
        checkWatched(transaction, closing)
        if (transaction.outside)
          throw unsupported(
            'speedUp() of bytes that were signed outside the lane',
            'commit bytes that offer more',
          )
        await operations().speedUp(transaction, fees)
      },
      toJSON: () => describe(transaction),
    }
    faceOf(transaction, tx)
    faces.set(transaction, tx)
    return tx
  }
}
