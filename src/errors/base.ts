import { BaseError } from 'viem'
import { PACKAGE_VERSION } from './packageVersion.js'
import { redactForeign, redactText } from './redact.js'
import { redactError } from './redactError.js'

/**
 * What went wrong, stable across versions. `fate` says whether the transaction may be sent again. docs/errors.md has a
 * row for each: when it happens, what the caller does, an HTTP status that fits.
 */
export type TxlaneErrorCode =
  /**
   * An argument or an option cannot work, or the call comes at the wrong time. The message names it. The call changed
   * nothing. A private transaction ends with this code where the process that takes its lane over has no `send` endpoint.
   */
  | 'INVALID'
  /**
   * The gas estimate says that the transaction reverts, or the node refuses to estimate it three times in the same
   * words. The transaction ends before it has a nonce.
   */
  | 'PREPARE_REVERTED'
  /** The transaction executed and reverted. `wait` rejects with this code where it was given `throwOnRevert`. */
  | 'REVERTED'
  /**
   * A node, or something else outside txlane, did not do what was asked of it. A transaction ends with this code where no
   * node can include its bytes, where a no-op took its nonce, where its fees are above the ceiling, and where the gas
   * estimate is refused again and again. A call ends with it where a read is refused or answered with nonsense, and where
   * code that is loaded later cannot be loaded.
   */
  | 'REJECTED'
  /**
   * No endpoint answered with anything of use: silence, a connection that failed, an HTTP status of 5xx or 429, and where a
   * lane is to be opened a refused key too. A call ends with this code where its lane cannot be opened or a read had no
   * answer, and a transaction where its gas estimate had none eight times. `details` quotes the endpoints.
   */
  | 'UNREACHABLE'
  /**
   * The deadline in `expires` passed. A transaction without journaled bytes ends with this code. After that the pending
   * `send` alone rejects with it, and the fate is `inFlight`.
   */
  | 'EXPIRED'
  /**
   * The caller's `signal` was aborted. A transaction without journaled bytes ends with this code. After that, and for a
   * wait, a read, a drain or a reservation, the call alone rejects with it.
   */
  | 'ABORTED'
  /** `cancel()` took the transaction out before it was sent, or a no-op took its nonce. The transaction has ended. */
  | 'CANCELLED'
  /** The transaction that `replace()` made took the place, or the nonce, of this one. This one has ended. */
  | 'SUPERSEDED'
  /**
   * What the call wants to change cannot be changed any more: the transaction to replace or to speed up has landed or
   * ended, or the reserved nonce was used or given back. A replacement ends with this code where the other one landed.
   */
  | 'TOO_LATE'
  /**
   * The nonce is used, and no endpoint shows by what: the transaction may have executed, and `resolve()` takes an
   * operator's word. With the fate `executed` that word was given, and `wait` has no receipt to resolve with.
   */
  | 'UNRESOLVED'
  /**
   * What the transaction was sent `after`, or an earlier one of its sequence, ended without execution, reverted or is
   * unresolved. The transaction ends before it is sent, and the cause says which one it was.
   */
  | 'DEPENDENCY'
  /**
   * `limits.queueMax` transactions wait, or `queueMax` of its group; or an allocator has handed out `limits.windowMax`
   * nonces that are not covered yet. Nothing was taken on.
   */
  | 'QUEUE_FULL'
  /** The account, or in a pool each account, cannot pay, and the transaction is not to wait for money (`starved: 'fail'`). */
  | 'STARVED'
  /** `createViemNonceManager` found no nonce for viem in 60 s: its lane is held, or not open yet. The message names the holds. */
  | 'BLOCKED'
  /**
   * The id stands for another request, or for the same request of another account. `tx` is the transaction that the id
   * stands for.
   */
  | 'ID_CONFLICT'
  /**
   * The id stands for the same request, which was sent before and ended without execution: `tx` is how it ended, and the
   * cause why. Nothing was sent now. `again: true` begins it anew.
   */
  | 'ENDED'
  /**
   * Another process holds the lane. An allocator rejects with this code, `retry()` of an outbox where another process
   * delivers, and a store where it is written to with a lease that is not the newest.
   */
  | 'LEASE_LOST'
  /**
   * The sender, the pool, the lanes or the allocator was closed. What a durable store has goes on in the process that
   * opens the lane next.
   */
  | 'CLOSED'
  /**
   * The `timeoutMs` of a wait, a `send`, a `replace` or a `cancel` passed. What was waited for may still come. What a `send` had
   * not taken on by then is not sent any more.
   */
  | 'WAIT_TIMEOUT'
  /** The transaction executed, and no endpoint showed a receipt that fits for `limits.receiptPatienceMs`. */
  | 'NO_RECEIPT'
  /**
   * txlane, the endpoint or the machine does not have what the call needs: a type of transaction or of account, a
   * JSON-RPC method, a block tag, an optional package, a newer version. The message says which, and what to do instead
   * where there is something.
   */
  | 'UNSUPPORTED'
  /** The account did not sign, or signed something else than it was given. The cause is a copy of what it threw. */
  | 'SIGNER'
  /**
   * The store did not read or write, or its records are not what they should be. `details` is `unknown` where nobody
   * knows whether a write was kept. Of PostgreSQL the message says which it was: the server cannot be reached, it is
   * starting or stopping, it refuses the user or the password, the database does not exist, the user has no right, it has no
   * connection left, or it refused a statement; the SQLSTATE or the system's error stands in `details`. A recorder that cannot write its file tells this code, too.
   */
  | 'STORE'
  /** The request, the signed bytes or an endpoint is of another chain than the lane. */
  | 'CHAIN_MISMATCH'

/**
 * "May I send it again?" `notExecuted`: yes, it never ran and never will. `inFlight`: no, it may still run;
 * `wait`, `cancel` or look again. `executed`: no, it ran.
 */
export type Fate = 'notExecuted' | 'inFlight' | 'executed'

/** What an error says of its transaction: safe to store and to print. */
export type ErrorTx = {
  /** The caller's idempotency key, or a generated one. */
  readonly id: string
  /** How far the transaction had come when the error was made. */
  readonly stage: string
  /** The account's nonce, where it had one. */
  readonly nonce?: number
  /** Of its newest attempt, where there was one. */
  readonly hash?: `0x${string}`
}

export type TxlaneErrorParameters = {
  readonly code: TxlaneErrorCode
  readonly fate: Fate
  readonly tx?: ErrorTx | undefined
  readonly cause?: unknown
  /** Default: those of the cause. */
  readonly details?: string | undefined
  readonly metaMessages?: readonly string[] | undefined
  /** The short message holds nothing of others that was not redacted: an example of a URL in it stays. */
  readonly isRedacted?: boolean | undefined
}

const VERSION = `txlane@${PACKAGE_VERSION}`

/**
 * Every error that txlane throws. Extends viem's `BaseError`, so `walk` finds the causes (a decoded
 * `ContractFunctionRevertedError`, say). Carries no URL beyond its origin, no key and no signed bytes, nor do its
 * causes, which are copies. Each of its texts has 16,384 characters at most. The last line of its message names the
 * version of txlane, below viem's.
 */
export class TxlaneError extends BaseError {
  /** Recognises the errors of every copy of the package: `instanceof` knows those of one. */
  override name = 'TxlaneError'
  /** What happened. */
  readonly code: TxlaneErrorCode
  /** Whether the transaction may be sent again. */
  readonly fate: Fate
  /** The transaction that the error is about; missing where it is about none, or the call was refused before there was one. */
  readonly tx?: ErrorTx
  /** The txlane that made the error, as `txlane@0.1.0`. The message names viem's version, too. */
  override readonly version: string = VERSION

  constructor(shortMessage: string, parameters: TxlaneErrorParameters) {
    // An account's own code knows the key.
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
    // viem's takes the details of a cause, and leaves those that it was given.
    if (cause instanceof Error && details !== undefined) setCause(this, cause)
    this.code = parameters.code
    this.fate = parameters.fate
    if (parameters.tx) this.tx = parameters.tx
    // The stack, which is what loggers print, is formatted when it is first read: this line is in it.
    this.message += `\nVersion: ${VERSION}`
  }
}

/** As `Error` itself would: not among what is enumerated. */
function setCause(error: Error, cause: Error): void {
  Object.defineProperty(error, 'cause', { value: cause, writable: true, configurable: true })
}

/** True for a txlane error of this or of another copy of the package (ESM beside CJS): compared by name. */
export function isTxlaneError(error: unknown): error is TxlaneError {
  return error instanceof Error && error.name === 'TxlaneError' && 'fate' in error
}
