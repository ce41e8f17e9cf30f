import { type Hashes, type Rule, redactTokens, type Token, textOf, tokensOf } from './redactTokens.js'
import { PROSE } from './secretWords.js'

type Kind = { readonly unit: RegExp; readonly min: number; readonly shown: string }

// A mnemonic word has three to eight letters (BIP-39, english.txt), and a mnemonic has at least 12 words.
const WORDS: Kind = { unit: /^[a-z]{3,8}$/i, min: 12, shown: '<words>' }
// A key of 32 bytes, printed as a buffer (`<Buffer 4f 9a …>`, `4f:9a:…`) or as an array of numbers.
const HEX_BYTES: Kind = { unit: /^(?:0x)?[0-9a-f]{2}$/i, min: 24, shown: '<bytes>' }
const NUMBERS: Kind = { unit: /^\d{1,3}$/, min: 32, shown: '<bytes>' }

/**
 * Hides lists of words that may be a mnemonic, and lists of bytes, with any separator: `a b`, `a,b`, `a%20b`.
 */
export function redactRuns(tokens: readonly Token[]): void {
  for (const kind of [WORDS, HEX_BYTES, NUMBERS]) redactRunsOf(tokens, kind)
}

function redactRunsOf(tokens: readonly Token[], { unit, min, shown }: Kind): void {
  let run: Token[] = []
  let count = 0
  const end = () => {
    if (count >= min) for (const [index, token] of run.entries()) token.shown = index === 0 ? shown : ''
    run = []
    count = 0
  }
  for (const token of tokens) {
    // A compound name, such as that of an option or a scenario. The words of a mnemonic are never joined like
    // this.
    if (COMPOUND.test(token.text)) end()
    for (const each of unitsOf(token.text)) {
      if (unit.test(each) && !PROSE.has(each.toLowerCase())) {
        count++
        if (run.at(-1) !== token) run.push(token)
      } else if (!isNumbering(token.text)) end()
    }
    // The end of a sentence, or the name of the following value.
    if (/[.!?:]$/.test(token.text) && !isNumbering(token.text)) end()
  }
  end()
}

const COMPOUND = /^[a-z]+(?:-[a-z]+){1,3}[,.;:]?$/i

const unitsOf = (text: string): string[] =>
  text
    .replaceAll('%20', ' ')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((unit) => unit !== '')

/** The number in a numbered list of words: `1.`, `2)`. */
const isNumbering = (text: string): boolean => /^\d{1,2}[.):]?$/.test(text)

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
