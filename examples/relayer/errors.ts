import { isTxlaneError } from 'txlane'

type Answer = { readonly status: number; readonly body: object }

/** What a caller is told. Not known whether it was taken on: the same key again tells. */
export function answerTo(error: unknown): Answer {
  if (isTxlaneError(error)) {
    const { code, fate, shortMessage } = error
    const body = { error: shortMessage, code, fate }
    if (code === 'ID_CONFLICT') return { status: 409, body }
    if (code === 'INVALID' || code === 'UNSUPPORTED') return { status: 400, body }
    // QUEUE_FULL, STORE, CLOSED: it is this service that cannot, now.
    return { status: 503, body }
  }
  // Fastify's own: a body that does not fit its schema, say.
  const { statusCode, message } = error as { statusCode?: number; message?: string }
  const known = statusCode !== undefined && statusCode < 500
  return known ? { status: statusCode, body: { error: message } } : { status: 500, body: { error: 'failed' } }
}
