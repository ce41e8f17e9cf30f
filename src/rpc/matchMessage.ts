import { MESSAGES, type MessageGroup, NONCE_HINTS, REVERT_WORDS } from './messages.js'

// Longer than every message of a node; what is behind it (calldata, traces) says nothing.
const TEXT_CHARS_MAX = 4_096

/** A message as it is compared: lower case, white space collapsed, cut to a length that is cheap to search. */
export function normalise(text: string): string {
  return text.slice(0, TEXT_CHARS_MAX).toLowerCase().replace(/\s+/g, ' ').trim()
}

/** True where a text tells of a contract's revert: whatever else it quotes is the contract's word, not the pool's. */
export function tellsOfRevert(normalised: string): boolean {
  return REVERT_WORDS.some((words) => normalised.includes(words))
}

/**
 * The group of the first row whose words stand at the start of a clause of the text. Words in the middle of a
 * sentence do not count, so that a message that mentions a nonce in passing stays unknown.
 */
export function matchMessage(normalised: string): MessageGroup | undefined {
  if (normalised === '' || tellsOfRevert(normalised)) return undefined
  const starts = clauseStarts(normalised)
  return MESSAGES.find((group) =>
    group.rows.some(([says]) => starts.some((at) => stands(normalised, at, says))),
  )
}

// What a wrapper puts between its own words and those that it hands on: "err: ", "[rpc] ", "(code 1) ",
// "error - ", gRPC's "desc = ", and op-geth's "error message: '".
const SEPARATOR = /: '?|\] |\) | - |; | = /g
// A message may begin with brackets, quotes and a bare number: '"nonce too low"', "-32000 nonce too low".
const LEADING = /^["'`[({\s]*(?:-?\d+\s*[:,]?\s+)?/

function clauseStarts(text: string): number[] {
  const starts = [LEADING.exec(text)?.[0].length ?? 0]
  for (const match of text.matchAll(SEPARATOR)) starts.push(match.index + match[0].length)
  return starts
}

// After the words: the end, punctuation, a number or address, or whom it is about. "already known issue" is none.
const TAIL =
  /^(?:$|[^a-z0-9_ -]|-[^a-z]| [^a-z]| (?:for|from|of|by|at) (?:the )?(?:account|address|sender|tx|transaction|nonce|chain|0x))/

// Matches `says` at a place of the text. A "…" in it stands for anything, at its end for any tail.
function stands(text: string, at: number, says: string): boolean {
  const [first = '', ...rest] = says.split('…')
  if (!text.startsWith(first, at)) return false
  let end = at + first.length
  for (const part of rest) {
    if (part === '') return true
    const found = text.indexOf(part, end)
    if (found === -1) return false
    end = found + part.length
  }
  return TAIL.test(text.slice(end, end + 40))
}

/** The next nonce that a message about a nonce tells, where it tells one. */
export function nonceHint(normalised: string): number | undefined {
  for (const hint of NONCE_HINTS) {
    const digits = hint.exec(normalised)?.[1]
    if (digits === undefined) continue
    const nonce = Number(digits)
    if (Number.isSafeInteger(nonce)) return nonce
  }
  return undefined
}
