import { isTxlaneError } from '../errors/base.js'
import { redactForeign } from '../errors/redact.js'

/** The details that a handler can give about its failure. */
export type DeliveryErrorParameters = {
  /** True if the delivery is to be given up, because it would fail again. @default false */
  isFinal?: boolean | undefined
  /** Milliseconds for which the receiver wants to be left alone, at most an hour. @default none */
  retryAfterMs?: number | undefined
  /** The caught error. The outbox does not show it. */
  cause?: unknown
}

/**
 * A handler rejects with this error to say more than that the delivery failed. Every other error means a
 * retry after a pause.
 */
export class DeliveryError extends Error {
  /** The name identifies the errors of every copy of the package. */
  override name = 'DeliveryError'
  /** True if the delivery is given up. */
  readonly isFinal: boolean
  /** Milliseconds for which the receiver wants to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, parameters: DeliveryErrorParameters = {}) {
    super(message, parameters.cause === undefined ? {} : { cause: parameters.cause })
    this.isFinal = parameters.isFinal === true
    this.retryAfterMs = parameters.retryAfterMs
  }
}

/** The outbox's reading of a value that a handler threw. */
export type Failure = { readonly reason: string; readonly isFinal: boolean; readonly retryAfterMs: number }

const REASON_CHARS_MAX = 500
const RETRY_AFTER_MS_MAX = 3_600_000

export function failureOf(error: unknown): Failure {
  const { name, message, isFinal, retryAfterMs } = (
    typeof error === 'object' && error !== null ? error : { message: error }
  ) as Partial<DeliveryError>
  const said = isTxlaneError(error) ? error.shortMessage : message
  const isOwn = name === 'DeliveryError'
  const restMs = isOwn && Number.isFinite(retryAfterMs) ? Number(retryAfterMs) : 0
  return {
    reason: redactForeign(String(said || 'It failed without a message.')).slice(0, REASON_CHARS_MAX),
    isFinal: isOwn && isFinal === true,
    retryAfterMs: Math.min(RETRY_AFTER_MS_MAX, Math.max(0, restMs)),
  }
}
