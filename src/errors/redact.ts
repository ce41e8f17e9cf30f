import { redactRuns } from './redactRuns.js'
import { type Hashes, type Rule, redactTokens } from './redactTokens.js'
import { textOf, tokensOf } from './tokens.js'

export { redactUrl } from './redactUrl.js'

/** Characters of a text that are left at most: a hostile text costs no more time than this. */
export const REDACTED_CHARS_MAX = 16_384

// Longer than a mnemonic of 24 words, so that a secret is never cut in two: its first half would not be known for one.
const MARGIN_CHARS = 512

/**
 * A text without what gives access to anything:
 * - URLs are cut to their origin, with a scheme or without one; `user:password@` goes;
 * - what stands behind a name that announces a secret (`password=`, `"apiKey": "…"`), behind `Bearer` and `Basic`, JSON
 *   web tokens, values of a query, and parts of a path that look like an API key;
 * - mnemonics: 12 words or more in a row that a mnemonic may have;
 * - bytes: more than 32 of them in hex (signed transactions, calldata), and lists of bytes;
 * - 32 bytes of hex where a word that announces a secret stands close before them.
 *
 * For the library's own words, in which 32 bytes of hex are a hash unless they are announced as something else. Texts are
 * cut to `REDACTED_CHARS_MAX` characters first. The time it takes grows with the length of the text: a text is split into
 * tokens once, and each token is looked at a fixed number of times.
 *
 * Not guaranteed: that a secret is found which looks like an ordinary word.
 */
export function redactText(text: string): string {
  return redacted(text, { hashes: 'all', paths: false })
}

/**
 * `redactText` for what somebody else said: 32 bytes of hex are left where the word before them calls them a hash, a
 * transaction, a block and the like, and go everywhere else. `never`: for those who know a private key, such as a signer.
 */
export function redactForeign(text: string, hashes: Exclude<Hashes, 'all'> = 'named'): string {
  return redacted(text, { hashes, paths: true })
}

/** `redactForeign` for what a person typed: names of files stay, whatever they look like. */
export function redactTyped(text: string): string {
  return redacted(text, { hashes: 'named', paths: false })
}

function redacted(text: string, rule: Rule): string {
  const isCut = text.length > REDACTED_CHARS_MAX
  const part = isCut ? text.slice(0, REDACTED_CHARS_MAX + MARGIN_CHARS) : text
  const tokens = tokensOf(part)
  redactRuns(tokens)
  redactTokens(part, tokens, rule)
  const safe = textOf(part, tokens)
  // What stands in the place of a secret may be longer.
  const length = Math.min(REDACTED_CHARS_MAX, isCut ? safe.length - MARGIN_CHARS : safe.length)
  return length < safe.length ? `${safe.slice(0, length)}…` : safe
}
