import { TxlaneError } from '../errors/base.js'
import { redactForeign } from '../errors/redact.js'

/** As much of what a service said as an error quotes. */
const QUOTE_MAX = 500
/** Looked through for what must not be shown: more than is quoted, so that nothing is known by its first half alone. */
const READ_MAX = 2_000

/** A key service did not sign, or cannot: nothing was sent. The details are the service's own words. */
export function signerError(message: string, details: string, cause?: unknown): TxlaneError {
  return new TxlaneError(message, { code: 'SIGNER', fate: 'notExecuted', details, cause })
}

/** What a service, its SDK or the network threw: its name, its code and its words, on one line, cut, without secrets. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return cut(String(error))
  const { code, errors } = error as { code?: unknown; errors?: readonly unknown[] }
  // A connection that failed to every address of a host is an AggregateError without a message.
  const inner = error.message === '' && errors?.[0] instanceof Error ? errors[0].message : error.message
  const names = [error.name === 'Error' ? '' : error.name, typeof code === 'string' ? code : '']
  const missing = names.filter((name, index) => !inner.includes(name) && names.indexOf(name) === index)
  // `fetch` says why it failed in the cause alone.
  const why = error.cause instanceof Error && error.cause !== error ? ` (${error.cause.message})` : ''
  return cut(`${missing.length === 0 ? '' : `${missing.join(' ')}: `}${inner}${why}`)
}

function cut(text: string): string {
  const line = redactForeign(text.slice(0, READ_MAX), 'never').replace(/\s+/g, ' ').trim()
  return line.length > QUOTE_MAX ? `${line.slice(0, QUOTE_MAX)}…` : line
}
