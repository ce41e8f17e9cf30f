import { isTxlaneError } from '../errors/base.js'
import { redactForeign } from '../errors/redact.js'

/** What a handler can say of its failure. */
export type DeliveryErrorParameters = {
  /** The delivery is given up: it would fail again. @default false */
  isFinal?: boolean | undefined
  /** Milliseconds that the receiver wants to be left alone, an hour at most. @default none */
  retryAfterMs?: number | undefined
  /** What was caught. Not shown by the outbox. */
  cause?: unknown
}

/**
 * A handler rejects with it where it knows more than that the delivery failed. Every other error means: again, after a
 * pause.
 */
export class DeliveryError extends Error {
  /** Recognises the errors of every copy of the package. */
  override name = 'DeliveryError'
  /** The delivery is given up. */
  readonly isFinal: boolean
  /** Milliseconds that the receiver wants to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, parameters: DeliveryErrorParameters = {}) {
    super(message, parameters.cause === undefined ? {} : { cause: parameters.cause })
    this.isFinal = parameters.isFinal === true
    this.retryAfterMs = parameters.retryAfterMs
  }
}

/** What the outbox makes of what a handler threw. */
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
    reason: redactForeign(String(said || 'It failed without a word.')).slice(0, REASON_CHARS_MAX),
    isFinal: isOwn && isFinal === true,
    retryAfterMs: Math.min(RETRY_AFTER_MS_MAX, Math.max(0, restMs)),
  }
}
