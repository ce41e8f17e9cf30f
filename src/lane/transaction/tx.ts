import type { Address, Chain, FeeValues, Hex } from 'viem'
import { checkNames } from '../../errors/checkNames.js'
import type { Clock } from '../../platform/clock.js'
import type {
  CancelOptions,
  CancelResult,
  Landed,
  SendOptions,
  Tx,
  TxRequest,
  WaitOptions,
  WaitReason,
  WaitStage,
} from '../../types/index.js'
import { FEES } from '../../validate/names.js'
import { ownOptions, ownRequest } from '../../validate/own.js'
import { isOutsideId, TRANSACTION } from '../../validate/stageOrder.js'
import {
  checkAccountOf,
  checkCancel,
  checkFees,
  checkRequest,
  checkSendOptions,
  checkWait,
  unsupported,
} from '../../validate/validate.js'
import { checkCost } from '../../validate/validateFees.js'
import { attemptsOf } from './attempts.js'
import { storedInTime, untilOf } from './caller.js'
import { assertChangeable, assertLaneOpen } from './cancelOutcome.js'
import { INSPECT } from './printedAs.js'
import { printedTx, recordOf } from './record.js'
import { publicStage, type Transaction } from './transaction.js'
import { RAW } from './txInternals.js'
import type { Waiting } from './waiting.js'

// Symbols for internal use, which callers cannot reach.
const LANE: unique symbol = Symbol('lane')
const ABORT: unique symbol = Symbol('abort')

/**
 * Operations on a transaction. The lease owner does them itself; other processes do them through the store.
 * Impossible requests were rejected before.
 */
export type TxOperations = {
  cancel(transaction: Transaction): Promise<CancelResult>
  replace(transaction: Transaction, request: TxRequest, options: SendOptions): Promise<Transaction>
  /** The caller's signal was aborted. */
  abort(transaction: Transaction): void
  speedUp(transaction: Transaction, wanted: Partial<FeeValues> | undefined): Promise<void>
  waitingFor(transaction: Transaction): WaitReason | undefined
  /** Stores the data of its receipt, through the process that may write. */
  keep(transaction: Transaction): void
  /** The signed bytes of the newest attempt, if this process has them. */
  raw(transaction: Transaction): Hex | undefined
}

type Parts = {
  readonly chain: Chain
  readonly address: Address
  readonly clock: Clock
  /** Once aborted, this process does nothing more for a transaction. */
  readonly closing: AbortSignal
  readonly operations: () => TxOperations
  readonly waiting: () => Waiting
}

/**
 * The public handles of transactions: one object for each, which shows the current state whichever process
 * owns the lane.
 */
export function createTxHandles(parts: Parts): {
  of(transaction: Transaction): Tx
  /**
   * Rebinds the handle of a transaction that may come from another lane. This lane does its operations from
   * now on.
   */
  take(transaction: Transaction): void
} {
  return {
    of(transaction) {
      transaction.handle ??= new TxHandle(transaction, parts)
      return transaction.handle
    },
    take(transaction) {
      const { handle } = transaction
      if (handle instanceof TxHandle) handle[LANE](parts)
      else transaction.handle = new TxHandle(transaction, parts)
    },
  }
}

/**
 * The caller's signal was aborted. The lane that has the transaction by now is notified, or `operations` if
 * it has no handle.
 */
export function abortBy(transaction: Transaction, operations: TxOperations): void {
  const { handle } = transaction
  if (handle instanceof TxHandle) handle[ABORT]()
  else operations.abort(transaction)
}

/** A class, because there is one object for each transaction, and its methods exist only once. */
class TxHandle implements Tx {
  readonly #transaction: Transaction
  #parts: Parts

  constructor(transaction: Transaction, parts: Parts) {
    this.#transaction = transaction
    this.#parts = parts
  }

  [ABORT]() {
    this.#parts.operations().abort(this.#transaction)
  }

  /** Rebinds the handle to this lane. */
  [LANE](parts: Parts) {
    this.#parts = parts
  }

  get id() {
    return this.#transaction.id
  }

  get stage() {
    return publicStage(this.#transaction)
  }

  get nonce() {
    return this.#transaction.nonce
  }

  get hash() {
    return this.#transaction.hash
  }

  get attempts() {
    return attemptsOf(this.#transaction.record) as Tx['attempts']
  }

  get waitingFor() {
    return this.#parts.operations().waitingFor(this.#transaction)
  }

  async wait<stage extends WaitStage = 'sealed'>(
    stage: WaitStage = 'sealed',
    options: WaitOptions = {},
  ): Promise<Landed<Chain, stage>> {
    checkWait(stage, options)
    return this.#parts.waiting().wait(this.#transaction, stage, options) as Promise<Landed<Chain, stage>>
  }

  async cancel(options: CancelOptions = {}) {
    checkCancel(options)
    const { operations, waiting } = this.#parts
    return waiting().within(this.#transaction, options, () => operations().cancel(this.#transaction))
  }

  async replace(asked: TxRequest, sendOptions: SendOptions = {}): Promise<Tx> {
    const request = ownRequest(asked)
    const options = ownOptions(sendOptions)
    const { chain, address, clock, operations, waiting } = this.#parts
    const untilMs = untilOf(clock, options)
    checkRequest(request, chain)
    checkAccountOf(request, address)
    checkSendOptions(options)
    checkCost(request, options)
    this.#checkChangeable('replace')
    const replacement = await storedInTime(clock, options, (caller) =>
      operations().replace(this.#transaction, request, options).then(caller.persisted, caller.failed),
    )
    if (options.until !== 'queued') await waiting().accepted(replacement, untilMs)
    replacement.handle ??= new TxHandle(replacement, this.#parts)
    return replacement.handle
  }

  async speedUp(fees?: Partial<FeeValues>) {
    if (fees !== undefined) {
      checkFees(fees)
      checkNames('fees', fees, FEES)
    }
    this.#checkChangeable('bump')
    if (isOutsideId(this.#transaction.id))
      throw unsupported(
        'speedUp() of bytes that were signed outside the lane',
        'commit bytes that offer more',
      )
    await this.#parts.operations().speedUp(this.#transaction, fees && { ...fees })
  }

  toJSON() {
    return recordOf(this.#transaction, this.waitingFor)
  }

  [INSPECT](
    _depth?: number,
    ...by: [options?: object, inspect?: (value: object, options?: object) => string]
  ) {
    return printedTx(this.toJSON(), ...by)
  }

  [TRANSACTION]() {
    return this.#transaction
  }

  [RAW]() {
    return this.#parts.operations().raw(this.#transaction)
  }

  #checkChangeable(what: 'replace' | 'bump'): void {
    assertChangeable(this.#transaction, what)
    assertLaneOpen(this.#transaction, this.#parts.closing)
  }
}
