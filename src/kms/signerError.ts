import { TxlaneError } from '../errors/base.js'
import { redactForeign } from '../errors/redact.js'

/** Maximum number of quoted characters of a service's message. */
const QUOTE_MAX = 500
/**
 * Maximum number of characters that are redacted: more than are quoted, so that a secret is not missed
 * because it is cut.
 */
const READ_MAX = 2_000

/**
 * The error of a key service that did not or cannot sign. The transaction was not sent. The details are the
 * service's own message.
 */
export function signerError(message: string, details: string, cause?: unknown): TxlaneError {
  return new TxlaneError(message, { code: 'SIGNER', fate: 'notExecuted', details, cause })
}

/**
 * An error of a service, its SDK or the network as text: its name, its code and its message on one line,
 * truncated, without secrets.
 */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return cut(String(error))
  const { code, errors } = error as { code?: unknown; errors?: readonly unknown[] }
  // A connection that failed for every address of a host is an AggregateError without a message.
  const inner = error.message === '' && errors?.[0] instanceof Error ? errors[0].message : error.message
  const names = [error.name === 'Error' ? '' : error.name, typeof code === 'string' ? code : '']
  const missing = names.filter((name, index) => !inner.includes(name) && names.indexOf(name) === index)
  // `fetch` gives the reason of its failure only in the cause.
  const why = error.cause instanceof Error && error.cause !== error ? ` (${error.cause.message})` : ''
  return cut(`${missing.length === 0 ? '' : `${missing.join(' ')}: `}${inner}${why}`)
}

function cut(text: string): string {
  const line = redactForeign(text.slice(0, READ_MAX), 'never').replace(/\s+/g, ' ').trim()
  return line.length > QUOTE_MAX ? `${line.slice(0, QUOTE_MAX)}…` : line
}
