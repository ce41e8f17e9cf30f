import { BaseError } from 'viem'
import { redactForeign, redactText } from './redact.js'
import { redactError } from './redactError.js'

/**
 * The kind of error, stable across versions. `fate` says whether the transaction may be sent again.
 * docs/errors.md has a row for each code: when it happens, how the caller should react, and a fitting HTTP
 * status.
 */
export type TxlaneErrorCode =
  /**
   * An argument or an option is invalid, or the call comes at the wrong time. The message names it. The call
   * changed nothing. A private transaction ends with this code if the process that takes over its lane has no
   * `send` endpoint.
   */
  | 'INVALID'
  /**
   * The gas estimate reports that the transaction reverts, or the node refuses three times to estimate it
   * with the same message. The transaction ends before it has a nonce.
   */
  | 'PREPARE_REVERTED'
  /** The transaction executed and reverted. `wait` rejects with this code if `throwOnRevert` is set. */
  | 'REVERTED'
  /**
   * A node, or another system outside txlane, refused a request. A transaction ends with this code if no node
   * can include its bytes, if a no-op took its nonce, if its fees are above the ceiling, or if its gas
   * estimate is refused repeatedly. A call ends with it if a read is refused or its answer makes no sense, or
   * if code that is loaded on demand cannot be loaded.
   */
  | 'REJECTED'
  /**
   * No endpoint gave a usable answer: no answer, a failed connection, or an HTTP status of 5xx or 429; while
   * a lane opens, a refused API key too. A call ends with this code if its lane cannot be opened or a read
   * had no answer. A transaction ends with it if its gas estimate had no answer eight times. `details` quotes
   * the endpoints.
   */
  | 'UNREACHABLE'
  /**
   * The deadline in `expires` passed. A transaction without journaled bytes ends with this code. After
   * journaling only the pending `send` rejects with it, with the fate `inFlight`.
   */
  | 'EXPIRED'
  /**
   * The caller's `signal` was aborted. A transaction without journaled bytes ends with this code. After
   * journaling, and for a wait, a read, a drain or a reservation, only the call rejects with it.
   */
  | 'ABORTED'
  /**
   * `cancel()` removed the transaction before it was sent, or a no-op took its nonce. The transaction has
   * ended.
   */
  | 'CANCELLED'
  /** The transaction that `replace()` sent took the place, or the nonce, of this one. This one has ended. */
  | 'SUPERSEDED'
  /**
   * The change comes too late: the transaction to replace or to speed up has landed or ended, or the reserved
   * nonce was used or released. A replacement ends with this code if the other transaction landed.
   */
  | 'TOO_LATE'
  /**
   * The nonce is used, and no endpoint shows by which transaction. This one may have executed; the operator
   * decides with `resolve()`. With the fate `executed` the operator has decided, and `wait` has no receipt to
   * resolve with.
   */
  | 'UNRESOLVED'
  /**
   * A transaction in `after`, or an earlier one of the sequence, ended without execution, reverted or is
   * unresolved. The transaction ends before it is sent, and the cause names the other one.
   */
  | 'DEPENDENCY'
  /**
   * The queue has `limits.queueMax` transactions, or `queueMax` of the group; or an allocator has handed out
   * `limits.windowMax` nonces that are not covered yet. The request was not accepted.
   */
  | 'QUEUE_FULL'
  /**
   * The account, or in a pool each account, cannot pay, and the transaction does not wait for funds
   * (`starved: 'fail'`).
   */
  | 'STARVED'
  /**
   * `createViemNonceManager` found no nonce for viem within 60 s, because its lane is held or not open yet.
   * The message names the holds.
   */
  | 'BLOCKED'
  /**
   * The id belongs to another request, or to the same request of another account. `tx` is the transaction
   * with this id.
   */
  | 'ID_CONFLICT'
  /**
   * The id belongs to the same request, which was sent before and ended without execution. `tx` is that
   * transaction, and the cause is its error. This call sent nothing. `again: true` restarts it.
   */
  | 'ENDED'
  /**
   * Another process owns the lease. An allocator rejects with this code, as does `retry()` of an outbox if
   * another process delivers, and a store for a write with an outdated lease.
   */
  | 'LEASE_LOST'
  /**
   * The sender, the pool, the lanes or the allocator was closed. Work in a durable store continues in the
   * next process that opens the lane.
   */
  | 'CLOSED'
  /**
   * The `timeoutMs` of a wait, a `send`, a `replace` or a `cancel` passed. The awaited event may still
   * happen. A request that `send` had not accepted by then is not sent any more.
   */
  | 'WAIT_TIMEOUT'
  /**
   * The transaction executed, but no endpoint showed a matching receipt within `limits.receiptPatienceMs`.
   */
  | 'NO_RECEIPT'
  /**
   * txlane, the endpoint or the machine does not support the call: a type of transaction or of account, a
   * JSON-RPC method, a block tag, an optional package, a newer version. The message names it, and an
   * alternative if there is one.
   */
  | 'UNSUPPORTED'
  /** The account did not sign, or signed other bytes than it was given. The cause is a copy of its error. */
  | 'SIGNER'
  /**
   * The store failed to read or write, or its records are invalid. `details` is `unknown` if it is unknown
   * whether a write was stored. For PostgreSQL the message names the cause: the server is unreachable,
   * starting or stopping; it refuses the user or the password; the database does not exist; the user lacks a
   * permission; no connection is free; or a statement was refused. The SQLSTATE or the system's error is in
   * `details`. A recorder that cannot write its file uses this code too.
   */
  | 'STORE'
  /** The request, the signed bytes or an endpoint belongs to another chain than the lane. */
  | 'CHAIN_MISMATCH'

/**
 * The answer to "May I send it again?". `notExecuted`: yes, it did not execute and never will. `inFlight`:
 * no, it may still execute; use `wait`, `cancel`, or check again. `executed`: no, it executed.
 */
export type Fate = 'notExecuted' | 'inFlight' | 'executed'

/** The transaction of an error, in a form that is safe to store and to print. */
export type ErrorTx = {
  /** The caller's idempotency key, or a generated one. */
  readonly id: string
  /** The stage of the transaction when the error was created. */
  readonly stage: string
  /** The account's nonce, if it had one. */
  readonly nonce?: number
  /** The hash of its newest attempt, if there was one. */
  readonly hash?: `0x${string}`
}

export type TxlaneErrorParameters = {
  readonly code: TxlaneErrorCode
  readonly fate: Fate
  readonly tx?: ErrorTx | undefined
  readonly cause?: unknown
  /** @default the details of the cause */
  readonly details?: string | undefined
  readonly metaMessages?: readonly string[] | undefined
  /**
   * True if the short message contains no foreign text that was not redacted. A URL in it, such as an
   * example, is kept.
   */
  readonly isRedacted?: boolean | undefined
}

/** The version in each error and each recording. A test compares it with package.json. */
export const PACKAGE_VERSION = '0.1.0'

/**
 * The class of every error that txlane throws. Extends viem's `BaseError`, so `walk` finds the causes (for
 * example a decoded `ContractFunctionRevertedError`). It contains no URL beyond its origin, no key and no
 * signed bytes; nor do its causes, which are copies. Each of its texts has at most 16,384 characters. The
 * last line of its message is the version of txlane, below viem's.
 */
export class TxlaneError extends BaseError {
  /**
   * The name identifies the errors of every copy of the package, whereas `instanceof` recognises only those
   * of one copy.
   */
  override name = 'TxlaneError'
  /** The kind of error. */
  readonly code: TxlaneErrorCode
  /** Whether the transaction may be sent again. */
  readonly fate: Fate
  /**
   * The transaction that the error is about. Missing if it is about none, or if the call was refused before
   * the transaction existed.
   */
  readonly tx?: ErrorTx
  /**
   * The version of txlane that created the error, as `txlane@0.1.0`. The message names viem's version too.
   */
  override readonly version: string = `txlane@${PACKAGE_VERSION}`

  constructor(shortMessage: string, parameters: TxlaneErrorParameters) {
    // The account's own code knows the private key.
    const knowsKey = parameters.code === 'SIGNER'
    const cause = redactError(parameters.cause, { knowsKey })
    const details =
      parameters.details === undefined
        ? undefined
        : redactForeign(parameters.details, knowsKey ? 'never' : 'named')
    super(parameters.isRedacted ? shortMessage : redactText(shortMessage), {
      ...(cause instanceof Error && details === undefined ? { cause } : {}),
      ...(details === undefined ? {} : { details }),
      ...(parameters.metaMessages ? { metaMessages: parameters.metaMessages.map(redactText) } : {}),
    })
    // viem's constructor takes the details of a cause and ignores the given ones.
    if (cause instanceof Error && details !== undefined) setCause(this, cause)
    this.code = parameters.code
    this.fate = parameters.fate
    if (parameters.tx) this.tx = parameters.tx
    // Loggers print the stack, which is formatted when it is first read, so that it contains this line.
    this.message += `\nVersion: ${this.version}`
  }
}

/** Sets the cause as `Error` itself does: not enumerable. */
function setCause(error: Error, cause: Error): void {
  Object.defineProperty(error, 'cause', { value: cause, writable: true, configurable: true })
}

/** True for a txlane error of this or another copy of the package (ESM beside CJS). Compared by name. */
export function isTxlaneError(error: unknown): error is TxlaneError {
  return error instanceof Error && error.name === 'TxlaneError' && 'fate' in error
}
