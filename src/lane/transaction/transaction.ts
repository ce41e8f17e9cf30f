import { BaseError, type Hash, type Hex, isHex, RpcRequestError, type TransactionReceipt } from 'viem'
import { DATA_CHARS_MAX } from '../../chain/endpoints/calls.js'
import type { MissingReceipt } from '../../chain/endpoints/receipts.js'
import { type ErrorTx, type Fate, TxlaneError, type TxlaneErrorCode } from '../../errors/base.js'
import type { Fees } from '../../ledger/fees.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { Landed, SendOptions, Stage, Tx } from '../../types/index.js'
import type { StoredFailure, StoredTransaction } from '../../types/store.js'
import { errorTxOf, ORDER } from '../../validate/stageOrder.js'
import type { GivenUp } from './givenUp.js'
import type { AboveCeiling } from './txError.js'
import type { Waiter } from './waiters.js'

const rank = new Map<Stage, number>(ORDER.map((stage, index) => [stage, index]))

/**
 * Knowledge of this process about the current record of a transaction. A later reading of the store discards
 * it. Few transactions have any.
 */
export type Notes = {
  /** The predecessors that its caller named in `after`, as objects where the caller gave them. */
  readonly predecessors?: SendOptions['after']
  /** The error with which it ended. It is built from the record if another process ended it. */
  readonly error?: TxlaneError | undefined
  /**
   * The stage before its end, until the end is in the store. Until then callers see this stage, because a
   * crash would undo the end (P5).
   */
  readonly stageBeforeEnd?: Stage | undefined
  /**
   * Nothing proves which transaction used its nonce. The verdict in the record says so too, unless it had
   * landed before and its block left the chain.
   */
  readonly unresolved?: true | undefined
  /** The name of an endpoint, and its last message instead of an acceptance. */
  readonly refusal?: string | undefined
  /** The node requires more than its ceiling. */
  readonly aboveCeiling?: AboveCeiling | undefined
  /** The reason why the claim was withdrawn from its nonce, until the table has ended it. */
  readonly withdrawError?: TxlaneError | undefined
  /** Bytes of it were journaled at a nonce that another transaction used. */
  readonly previouslySigned?: true | undefined
  /**
   * Number of consecutive failures of its signer after earlier bytes were sent. It is not signed again before
   * this time.
   */
  readonly signerPause?: { readonly failures: number; readonly untilMs: number } | undefined
}

/**
 * A transaction in this process: its stored record, and the state that exists only in memory. It is the same
 * object for the transaction's whole life.
 *
 * `changes.ts` contains all writes to the record. The record itself is never mutated, so the store and the
 * journal may hold it.
 *
 * There are many transactions. Fields that few of them ever have are only declared, so that the others get no
 * room for them.
 */
export class Transaction {
  /** A change replaces the whole record. */
  readonly record: StoredTransaction
  /** The stage in the store. */
  persistedStage: Stage
  /** This process has walked the block of the record. A block that was only read may have left the chain. */
  isBlockWalked: boolean
  /** Prepared: it may get a nonce as soon as it is the first in the queue. */
  ready: boolean
  /** Another process may wait for it, so each of its stages is written to the store. */
  watchedRemotely: boolean
  /** Pending while the store has not answered. The id may already exist there, from an earlier send. */
  enqueuing: Promise<unknown> | undefined
  /** The transaction whose nonce it takes over. */
  replaces: Transaction | undefined
  /** The landed receipt, once a caller has requested it. */
  landed: Landed | undefined
  waiters: Waiter[] | undefined
  /** The public handle. */
  handle: Tx | undefined
  /** The intake that works on it in this process, by identity. */
  owner: object | undefined
  notes: Notes | undefined
  /** The reason why the lane used its nonce for a no-op. */
  declare givenUp?: GivenUp
  /** A caller waits for its receipt, which no endpoint has shown. */
  declare missingReceipt?: MissingReceipt | undefined
  /** The caller waits for the receipt for this many milliseconds: see `RECEIPT_WITHIN`. */
  declare receiptWithinMs?: number
  /** The receipt in the answer to its send. Only the walk proves its block, which may have no hash yet. */
  declare answeredReceipt?: Omit<TransactionReceipt, 'blockHash'> & { readonly blockHash: Hash | null }
  /** The caller wants to reuse the id if its transaction ended before. The store has not answered yet. */
  declare again?: true | undefined
  /** Fees that its caller named for a bump. Its ceilings are above them, as above those in the request. */
  declare callerBumpFees?: Fees
  /** A bump that its caller requested and that was not made yet, with the named fees. */
  declare requestedBump?: { readonly fees: Fees | undefined } | undefined
  declare cancelTimers?: CancelTimer | undefined
  /** Removes the listener from the caller's signal. */
  declare detachSignal?: (() => void) | undefined
  /** Called once it is certain whether it executed. */
  declare cancelWaiters?: (() => void)[] | undefined

  constructor(record: StoredTransaction) {
    this.record = record
    this.persistedStage = record.stage
    this.isBlockWalked = false
    this.ready = false
    this.watchedRemotely = false
    this.enqueuing = undefined
    this.replaces = undefined
    this.landed = undefined
    this.waiters = undefined
    this.handle = undefined
    this.owner = undefined
    this.notes = notesOf(record)
  }

  get id() {
    return this.record.id
  }

  get lane() {
    return this.record.lane
  }

  get request() {
    return this.record.request
  }

  get sequence() {
    return this.record.sequence
  }

  get priority() {
    return this.record.priority
  }

  get group() {
    return this.record.group
  }

  get stage() {
    return this.record.stage
  }

  get nonce() {
    return this.record.nonce
  }

  get hash() {
    return this.record.hash
  }

  /** The sealed block in which this process last saw it. */
  get walkedBlock(): BlockRef | undefined {
    return this.isBlockWalked ? this.record.block : undefined
  }

  /** The transaction landed, at `lossDepth`. */
  get settled(): boolean {
    return this.record.verdict === 'landed'
  }

  get unresolved(): boolean {
    return this.notes?.unresolved === true
  }

  /** The error with which it ended without execution. */
  get failure(): TxlaneError | undefined {
    const { failure } = this.record
    if (failure === undefined) return undefined
    if (!this.notes?.error) this.notes = { ...this.notes, error: failureFrom(failure, describe(this)) }
    return this.notes.error
  }

  /**
   * The end of the transaction is in the store. Before that no caller may be notified, because a crash would undo it
   * (P5).
   */
  get endPersisted(): boolean {
    return this.record.failure !== undefined && this.notes?.stageBeforeEnd === undefined
  }
}

/** The notes about a record that was just read or created. */
export function notesOf({ verdict }: StoredTransaction): Notes | undefined {
  return verdict === 'unresolved' ? { unresolved: true } : undefined
}

/** The stage that callers may see. A crash can undo an end that is not in the store yet (P5). */
export function publicStage({ stage, notes }: Transaction): Stage {
  return notes?.stageBeforeEnd ?? stage
}

/** True if the transaction has reached the stage, or a later one on the way to execution. */
export function hasReached(transaction: { readonly stage: Stage }, stage: Stage): boolean {
  const now = rank.get(transaction.stage)
  const wanted = rank.get(stage)
  return now !== undefined && wanted !== undefined && now >= wanted
}

/** The transaction ended without execution. */
export function hasFailed({ record }: Transaction): boolean {
  return record.failure !== undefined
}

/**
 * Whether it executed, as far as that is known. A crash can undo an end that is not in the store yet (P5).
 */
export function fateOf(transaction: Transaction): Fate {
  if (hasReached(transaction, 'sealed')) return 'executed'
  return transaction.endPersisted ? (transaction.failure?.fate ?? 'notExecuted') : 'inFlight'
}

/** The clock for the times in a record. */
export type WallClock = Pick<Clock, 'wallNow'>

/** The stage for the error with which a transaction ended. */
export function endStage(code: TxlaneErrorCode): 'failed' | 'cancelled' | 'superseded' {
  if (code === 'CANCELLED') return 'cancelled'
  return code === 'SUPERSEDED' ? 'superseded' : 'failed'
}

/** The description of the transaction in an error. */
export function describe(transaction: Transaction): ErrorTx & { readonly stage: Stage } {
  const { id, nonce, hash } = transaction
  return errorTxOf({ id, stage: publicStage(transaction), nonce, hash })
}

const DETAILS_CHARS_MAX = 1_000

/** The stored form of the error with which a transaction ended. */
export function storedFailure(error: TxlaneError): StoredFailure {
  const { code, shortMessage: message, details } = error
  const data = revertDataOf(error)
  return {
    code,
    message,
    ...(details ? { details: details.slice(0, DETAILS_CHARS_MAX) } : {}),
    ...(data === undefined ? {} : { data }),
  }
}

/**
 * Rebuilds the error from its stored form. Its cause contains the revert data, as viem's decoders expect.
 */
function failureFrom({ code, message, details, data }: StoredFailure, tx: ErrorTx): TxlaneError {
  const cause = data && revertCause(details ?? message, data)
  return new TxlaneError(message, { code, fate: 'notExecuted', tx, ...(cause ? { cause } : { details }) })
}

/** An error that contains the revert data in the place where viem's decoders expect it. */
export function revertCause(message: string, data: Hex): Error {
  return new RpcRequestError({ body: {}, error: { code: 3, message, data }, url: 'redacted' })
}

function revertDataOf(error: TxlaneError): Hex | undefined {
  const holder: unknown = error.walk((one) => one instanceof Error && 'data' in one && isHex(one.data))
  const { data } = (holder instanceof BaseError ? holder : {}) as { readonly data?: Hex }
  return data !== undefined && data.length > 2 && data.length <= DATA_CHARS_MAX ? data : undefined
}
