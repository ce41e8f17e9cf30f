import { redactForeign } from './redact.js'

/** The maximum length of a quotation, in characters. */
const QUOTE_MAX = 160
/** Only this many characters of a message are searched for secrets; the rest is dropped. */
const READ_MAX = 400

/** Shortens a message of an endpoint to one line, without URLs and secrets. */
export function quoteOf(said: Error | string): string {
  const text = typeof said === 'string' ? said : wordsOf(said)
  const line = redactForeign(text.slice(0, READ_MAX)).replace(/\s+/g, ' ').trim()
  return line.length > QUOTE_MAX ? `${line.slice(0, QUOTE_MAX)}…` : line
}

/** viem's errors keep the node's own words in their details. */
function wordsOf(error: Error): string {
  const { details } = error as { details?: unknown }
  return typeof details === 'string' && details !== '' ? details : error.message
}

const SAID = ' said: '

/** Splits a stored refusal into the name of the endpoint and its message. */
export function refusalOf(refusal: string): { readonly endpoint: string; readonly said: string } {
  const at = refusal.indexOf(SAID)
  return {
    endpoint: refusal.slice(0, Math.max(0, at)),
    said: quoteOf(refusal.slice(at < 0 ? 0 : at + SAID.length)),
  }
}
