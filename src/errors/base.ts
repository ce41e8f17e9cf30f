import { BaseError } from 'viem'
import { redactForeign, redactText } from './redact.js'
import { redactError } from './redactError.js'

/** What went wrong, stable across versions. */
export type TxlaneErrorCode =
  | 'INVALID'
  | 'PREPARE_REVERTED'
  | 'REVERTED'
  | 'REJECTED'
  | 'EXPIRED'
  | 'ABORTED'
  | 'CANCELLED'
  | 'SUPERSEDED'
  | 'TOO_LATE'
  | 'UNRESOLVED'
  | 'DEPENDENCY'
  | 'QUEUE_FULL'
  | 'STARVED'
  | 'BLOCKED'
  | 'ID_CONFLICT'
  | 'LEASE_LOST'
  | 'CLOSED'
  | 'WAIT_TIMEOUT'
  | 'NO_RECEIPT'
  | 'UNSUPPORTED'
  | 'SIGNER'
  | 'STORE'
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

/**
 * Every error that txlane throws. Extends viem's `BaseError`, so `walk` finds the causes (a decoded
 * `ContractFunctionRevertedError`, say). Carries no URL beyond its origin, no key and no signed bytes, nor do its
 * causes, which are copies. Each of its texts has 16,384 characters at most.
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
