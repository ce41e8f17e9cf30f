import { isTxlaneError, type TxlaneErrorCode } from 'txlane'

type Answer = { readonly status: number; readonly body: object }

const STATUS: Partial<Record<TxlaneErrorCode, number>> = {
  INVALID: 400,
  UNSUPPORTED: 400,
  ID_CONFLICT: 409,
  ENDED: 409,
  EXPIRED: 504,
}

/**
 * Maps an error to its answer. An error without its own status is a 503: a repeated request with the same key
 * shows whether the first one was accepted.
 */
export function answerTo(error: unknown): Answer {
  if (isTxlaneError(error)) {
    const { code, fate, shortMessage, tx } = error
    return {
      status: STATUS[code] ?? 503,
      body: { error: shortMessage, code, fate, transaction: tx },
    }
  }
  // An error of Fastify, for example a body that does not match its schema.
  const { statusCode, message } = error as { statusCode?: number; message?: string }
  const isKnown = statusCode !== undefined && statusCode < 500
  return isKnown
    ? { status: statusCode, body: { error: message } }
    : { status: 500, body: { error: 'failed' } }
}
