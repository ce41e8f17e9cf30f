import { PROSE } from './secretWords.js'
import type { Token } from './tokens.js'

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
