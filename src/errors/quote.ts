import { redactForeign } from './redact.js'

/** As much of what an endpoint said as a sentence can quote. */
const QUOTE_MAX = 160
/** Looked through for what must not be shown: whatever is cut at its end is not quoted. */
const READ_MAX = 400

/** What an endpoint said, on one line, cut, without URLs and secrets. */
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

/** A refusal as it is kept with its transaction: the endpoint's name, then what it said. */
export function refusalOf(refusal: string): { readonly endpoint: string; readonly said: string } {
  const at = refusal.indexOf(SAID)
  return {
    endpoint: refusal.slice(0, Math.max(0, at)),
    said: quoteOf(refusal.slice(at < 0 ? 0 : at + SAID.length)),
  }
}
