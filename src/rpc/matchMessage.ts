import {
  NONCE_HINTS,
  NONCE_MAX_HINT,
  NONCE_SIDES,
  NOT_RUN,
  RATE_LIMIT_WORDS,
  REVERT_WORDS,
  WRAPPER_WORDS,
} from './messagePatterns.js'
import { MESSAGES, type MessageGroup } from './messages.js'

// Longer than every message of a node; what is behind it (calldata, traces) says nothing.
const TEXT_CHARS_MAX = 4_096

/** A message as it is compared: lower case, cut to a length that is cheap to search. */
export function normalise(text: string): string {
  return text.slice(0, TEXT_CHARS_MAX).toLowerCase()
}

/** True where a text tells of a contract's revert: whatever else it quotes is the contract's word, not the pool's. */
export function tellsOfRevert(normalised: string): boolean {
  const text = normalised.replace(NOT_RUN, '')
  return REVERT_WORDS.some((words) => text.includes(words))
}

/** True where a text speaks of a rate limit. Says nothing alone: see the codes that must stand beside it. */
export function tellsOfRateLimit(normalised: string): boolean {
  return RATE_LIMIT_WORDS.some((words) => normalised.includes(words))
}

/**
 * The first group of the table with a row whose words stand at the start of a clause of the text, after nothing
 * but what wrappers put there. Words in the middle of a sentence do not count, so that a message that mentions a
 * nonce in passing stays unknown; nor do words after the name of a contract ("Vault: nonce too low").
 * A text that tells of a revert is not for this table: ask `tellsOfRevert` first.
 */
export function matchMessage(normalised: string): MessageGroup | undefined {
  const lines = normalised.split(/[\r\n]+/, LINES_MAX)
  const clauses = lines.flatMap((line) => clausesOf(line.replace(/\s+/g, ' ').trim()))
  return MESSAGES.find((group) => {
    // A wrong "intrinsic" would free a nonce that may be live: what stands before must be known to be a wrapper's.
    const readable = group.outcome === 'intrinsic' ? clauses.filter(({ known }) => known) : clauses
    return group.rows.some((says) => readable.some(({ text }) => stands(text, says)))
  })
}

/** Whether a message that states both nonces is about one above the account's; undefined where it states none. */
export function isAboveAccount(normalised: string): boolean | undefined {
  for (const { words, tx, account } of NONCE_SIDES) {
    const found = words.exec(normalised)
    if (found !== null) return Number(found[tx]) > Number(found[account])
  }
  return undefined
}

/** The next nonce that a message about a nonce tells, where it tells one. */
export function nonceHint(normalised: string): number | undefined {
  return firstNonce(NONCE_HINTS, normalised)
}

/** The highest nonce that the node takes now, where a message tells a range. */
export function nonceMaxHint(normalised: string): number | undefined {
  return firstNonce([NONCE_MAX_HINT], normalised)
}

function firstNonce(hints: readonly RegExp[], normalised: string): number | undefined {
  for (const hint of hints) {
    const nonce = Number(hint.exec(normalised)?.[1])
    if (Number.isSafeInteger(nonce)) return nonce
  }
  return undefined
}

// A text from the start of a clause to the end of its line, and whether nothing stands before it but what is known to
// be a wrapper's. Otherwise there are also sentences that nobody knows.
type Clause = { readonly text: string; readonly known: boolean }

const LINES_MAX = 32
const CLAUSES_MAX = 16

// What a wrapper puts between its own words and those that it hands on: "err: ", "[rpc] ", "(code 1) ",
// "error - ", and gRPC's "desc = ".
const SEPARATOR = /: |\] |\) | - |; | = /g
// A message may begin with brackets, quotes and a bare number: '"nonce too low"', "-32000 nonce too low". op-geth
// quotes what it was told: "error message: 'nonce too low'".
const LEADING = /^["'`[({\s]*(?:-?\d+\s*[:,]?\s["'`[({\s]*)?/
// Nethermind's name of the result, before what is wrong.
const RESULT = /^(?:transaction )?invalid, /

function clausesOf(line: string): Clause[] {
  const clauses: Clause[] = []
  let known = true
  const add = (rest: string) => {
    const text = rest.replace(LEADING, '')
    clauses.push({ text, known })
    if (RESULT.test(text)) clauses.push({ text: text.replace(RESULT, ''), known })
  }
  add(line)
  let from = line.length - line.replace(LEADING, '').length
  for (const match of line.matchAll(SEPARATOR)) {
    const end = match.index + match[0].length
    if (end <= from || clauses.length >= CLAUSES_MAX) continue
    const before = line.slice(from, end)
    if (!isWrapper(before)) {
      if (SIGNATURE.test(before)) break
      known = false
    }
    add(line.slice(end))
    from = end
  }
  return clauses
}

// True where what stands before a separator is a wrapper's for certain. A sentence of unknown words may be one.
function isWrapper(clause: string): boolean {
  const words = clause.split(/[^a-z0-9_-]/).filter((word) => /[a-z]/.test(word) && !IDENTIFIER.test(word))
  const executes = words.some((word) => EXECUTION.test(word))
  return !executes && (words.length === 0 || words.some(isWrapperWord))
}

// One unknown word and a colon is how Solidity code signs its messages: surely no wrapper's.
const SIGNATURE = /^[^\s:]+: /

function isWrapperWord(word: string): boolean {
  return word.split('-').some((part) => WRAPPER_WORDS.has(part))
}

// Hashes, addresses and request ids say nothing of who speaks.
const IDENTIFIER = /^(?:0x)?(?=.*\d)[0-9a-f-]+$/

// What follows may be a contract's word, handed on by a node that tried the transaction out: "pre-execution failed",
// "eth_estimateGas". A name that ends in EVM is that of a chain.
const EXECUTION = /^evm|contract|execut|simulat|estimat|userop/

// After the words: the end, punctuation, a number or address, or whom it is about. "already known issue" is none.
const TAIL =
  /^(?:$|[^a-z0-9_ -]|-[^a-z]| [^a-z]| (?:for|from|of|by|at) (?:the )?(?:account|address|sender|tx|transaction|nonce|chain|0x))/
const TAIL_CHARS = 40

// True where the clause starts with `says`. A "…" in it stands for anything, at its end for any tail.
function stands(clause: string, says: string): boolean {
  const [first = '', ...rest] = says.split('…')
  if (!clause.startsWith(first)) return false
  let end = first.length
  for (const part of rest) {
    if (part === '') return true
    const found = clause.indexOf(part, end)
    if (found === -1) return false
    end = found + part.length
  }
  return TAIL.test(clause.slice(end, end + TAIL_CHARS))
}
