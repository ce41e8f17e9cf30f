import { redactRuns } from './redactRuns.js'
import { type Hashes, type Rule, redactTokens } from './redactTokens.js'
import { textOf, tokensOf } from './tokens.js'

export { redactUrl } from './redactUrl.js'

/** Maximum number of characters that are kept of a text, so that a hostile text costs a limited time. */
export const REDACTED_CHARS_MAX = 16_384

// Longer than a mnemonic of 24 words, so that truncation never splits a secret: its first half would not be
// recognised.
const MARGIN_CHARS = 512

/**
 * Removes every part of a text that gives access to a system:
 *
 * - URLs are reduced to their origin, with or without a scheme; `user:password@` is removed;
 * - values after a name that announces a secret (`password=`, `"apiKey": "…"`), after `Bearer` and `Basic`,
 *   JSON web tokens, query values, and parts of a path that look like an API key;
 * - mnemonics: 12 or more consecutive words that may form one;
 * - bytes: more than 32 of them in hex (signed transactions, calldata), and lists of bytes;
 * - 32 bytes of hex shortly after a word that announces a secret.
 *
 * Meant for the library's own text, in which 32 bytes of hex are a hash unless announced as a secret. Texts
 * are first truncated to `REDACTED_CHARS_MAX` characters. The time grows linearly with the length: a text is
 * split into tokens once, and each token is read a fixed number of times.
 *
 * Not guaranteed: that a secret that looks like an ordinary word is found.
 */
export function redactText(text: string): string {
  return redacted(text, { hashes: 'all', paths: false })
}

/**
 * `redactText` for foreign text: 32 bytes of hex are kept only if the word before them calls them a hash, a
 * transaction, a block or similar. `never`: for text of code that knows a private key, such as a signer.
 */
export function redactForeign(text: string, hashes: Exclude<Hashes, 'all'> = 'named'): string {
  return redacted(text, { hashes, paths: true })
}

/** `redactForeign` for text that a user typed: file names are kept, whatever they look like. */
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
  // Replacement texts may be longer than the secrets.
  const length = Math.min(REDACTED_CHARS_MAX, isCut ? safe.length - MARGIN_CHARS : safe.length)
  return length < safe.length ? `${safe.slice(0, length)}…` : safe
}
