import { isTxlaneError, type TxlaneErrorCode } from 'txlane'

type Answer = { readonly status: number; readonly body: object }

const STATUS: Partial<Record<TxlaneErrorCode, number>> = {
  INVALID: 400,
  UNSUPPORTED: 400,
  ID_CONFLICT: 409,
  ENDED: 409,
  EXPIRED: 504,
}

/** The answer for an error. What has no status of its own is a 503: the same key again tells whether it was taken on. */
export function answerTo(error: unknown): Answer {
  if (isTxlaneError(error)) {
    const { code, fate, shortMessage, tx } = error
    return {
      status: STATUS[code] ?? 503,
      body: { error: shortMessage, code, fate, transaction: tx },
    }
  }
  // Fastify's own: a body that does not fit its schema, say.
  const { statusCode, message } = error as { statusCode?: number; message?: string }
  const isKnown = statusCode !== undefined && statusCode < 500
  return isKnown
    ? { status: statusCode, body: { error: message } }
    : { status: 500, body: { error: 'failed' } }
}
