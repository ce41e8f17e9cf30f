import type { FeeValues } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { attemptsOf } from '../../lane/transaction/attempts.js'
import { assertChangeable, endedResult } from '../../lane/transaction/cancelOutcome.js'
import { refresh } from '../../lane/transaction/changes.js'
import { INSPECT } from '../../lane/transaction/printedAs.js'
import { printedTx, recordOf } from '../../lane/transaction/record.js'
import { fromStored } from '../../lane/transaction/stored.js'
import { fateOf, type Transaction } from '../../lane/transaction/transaction.js'
import { txError } from '../../lane/transaction/txError.js'
import { RAW, rawOf, transactionOf } from '../../lane/transaction/txInternals.js'
import { interruptible } from '../../lane/transaction/waiting.js'
import { keptReason } from '../../lane/transaction/waitingFor.js'
import type { Clock } from '../../platform/clock.js'
import type {
  CancelOptions,
  CancelResult,
  Landed,
  SendOptions,
  Tx,
  TxRequest,
  WaitOptions,
  WaitStage,
} from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import { ownOptions, ownRequest } from '../../validate/own.js'
import { TRANSACTION } from '../../validate/stageOrder.js'
import { checkCancel, checkWait } from '../../validate/validate.js'
import type { ReadableLane } from './records.js'

export type RecordParts = {
  readonly clock: Clock
  /** Tries to open the lane. */
  readonly open: () => Promise<ReadableLane>
  /** Reads the record of the transaction from the store. */
  readonly read: (id: string) => Promise<StoredTransaction | undefined>
}

/**
 * A handle of a transaction from its stored record, while its lane cannot be opened. Calls that need the lane wait for
 * it, or reject with the reason why it cannot be opened. Once the lane is open, every value and call comes from the
 * lane.
 */
export class RecordHandle implements Tx {
  readonly #transaction: Transaction
  readonly #parts: RecordParts
  #live: Tx | undefined

  constructor(stored: StoredTransaction, parts: RecordParts) {
    this.#transaction = fromStored(stored)
    this.#parts = parts
  }

  get id() {
    return this.#transaction.id
  }

  get stage() {
    return this.#live?.stage ?? this.#transaction.stage
  }

  get nonce() {
    return this.#live ? this.#live.nonce : this.#transaction.nonce
  }

  get hash() {
    return this.#live ? this.#live.hash : this.#transaction.hash
  }

  get attempts() {
    return this.#live?.attempts ?? (attemptsOf(this.#transaction.record) as Tx['attempts'])
  }

  get waitingFor() {
    return this.#live ? this.#live.waitingFor : keptReason(this.#transaction)
  }

  /** Takes over a newer reading of the record. */
  learn(stored: StoredTransaction): void {
    refresh(this.#transaction, stored)
  }

  /** Connects the handle to the open lane. */
  async bind(lane: Pick<ReadableLane, 'find'>): Promise<Tx> {
    const found = await lane.find(this.id)
    if (found === undefined)
      throw txError(this.#transaction, 'STORE', 'inFlight', 'The store does not know it on this chain.')
    this.#live ??= found
    return this.#live
  }

  async wait(stage: WaitStage = 'sealed', options: WaitOptions = {}): Promise<Landed> {
    checkWait(stage, options)
    const { live, left } = await this.#inTime(options, (isOver) => this.#whenOpen(isOver))
    return live.wait(stage, left)
  }

  /** Waits for the lane within the timeout of the caller. The call of the lane gets the time that is left. */
  async #inTime<options extends CancelOptions>(
    options: options,
    open: (isOver: () => boolean) => Promise<Tx>,
  ): Promise<{ readonly live: Tx; readonly left: options }> {
    const { clock } = this.#parts
    const startedMs = clock.now()
    const transaction = this.#transaction
    let isOver = false
    const live = await interruptible({ clock, transaction, options }, (interrupted) =>
      Promise.race([open(() => isOver), interrupted]),
    ).finally(() => {
      isOver = true
    })
    const { timeoutMs } = options
    if (timeoutMs === undefined) return { live, left: options }
    const leftMs = Math.max(0, timeoutMs - (clock.now() - startedMs))
    return { live, left: { ...options, timeoutMs: leftMs } }
  }

  async cancel(options: CancelOptions = {}): Promise<CancelResult> {
    checkCancel(options)
    if (!this.#live && this.#transaction.endPersisted) return endedResult(this.#transaction)
    const { live, left } = await this.#inTime(options, () => this.#opened())
    return live.cancel(left)
  }

  async replace(asked: TxRequest, options: SendOptions = {}): Promise<Tx> {
    const request = ownRequest(asked)
    const own = ownOptions(options)
    if (!this.#live) assertChangeable(this.#transaction, 'replace')
    return (await this.#opened()).replace(request, own)
  }

  async speedUp(fees?: Partial<FeeValues>): Promise<void> {
    const own = fees && { ...fees }
    if (!this.#live) assertChangeable(this.#transaction, 'bump')
    return (await this.#opened()).speedUp(own)
  }

  toJSON() {
    return this.#live?.toJSON() ?? recordOf(this.#transaction, this.waitingFor)
  }

  [INSPECT](
    _depth?: number,
    ...by: [options?: object, inspect?: (value: object, options?: object) => string]
  ) {
    return printedTx(this.toJSON(), ...by)
  }

  [TRANSACTION]() {
    return transactionOf(this.#live) ?? this.#transaction
  }

  [RAW]() {
    return rawOf(this.#live)
  }

  /** Opens the lane in one try. */
  async #opened(): Promise<Tx> {
    if (this.#live) return this.#live
    try {
      return await this.bind(await this.#parts.open())
    } catch (error) {
      throw this.#told(error)
    }
  }

  /**
   * Tries to open the lane until it succeeds or the wait is over. Throws the failure of a transaction that has ended.
   */
  async #whenOpen(isOver: () => boolean): Promise<Tx> {
    for (;;) {
      const { failure, endPersisted } = this.#transaction
      if (!this.#live && failure && endPersisted) throw failure
      try {
        return await this.#opened()
      } catch (error) {
        if (!isTxlaneError(error) || error.code !== 'UNREACHABLE' || isOver()) throw error
      }
      // Another process may own the lane and write its progress to the store.
      const stored = await this.#parts.read(this.id).catch(() => undefined)
      if (stored) this.learn(stored)
    }
  }

  #told(error: unknown): unknown {
    if (!isTxlaneError(error) || error.tx !== undefined) return error
    const { code, shortMessage } = error
    return txError(this.#transaction, code, fateOf(this.#transaction), shortMessage, error)
  }
}
