import { MESSAGES, type MessageGroup } from './messages.js'

// Longer than every message of a node. The text behind it (calldata, traces) is irrelevant.
const TEXT_CHARS_MAX = 4_096

/** The form in which messages are compared: lower case, truncated to a length that is cheap to search. */
export function normalise(text: string): string {
  return text.slice(0, TEXT_CHARS_MAX).toLowerCase()
}

/**
 * True if a text reports a contract's revert. Then the rest of the text may be quoted from the contract, not
 * from the pool.
 */
export function mentionsRevert(normalised: string): boolean {
  const text = normalised.replace(NOT_RUN, '')
  return REVERT_WORDS.some((words) => text.includes(words))
}

/**
 * The first group of the table with a row that matches the start of a clause of the text, after nothing but
 * words of wrappers. Words in the middle of a sentence do not count, so a message that mentions a nonce in
 * passing stays unknown. Words after the name of a contract ("Vault: nonce too low") do not count either. For
 * a text that reports a revert, check `mentionsRevert` first.
 */
export function matchMessage(normalised: string): MessageGroup | undefined {
  const lines = normalised.split(/[\r\n]+/, LINES_MAX)
  const clauses = lines.flatMap((line) => clausesOf(line.replace(/\s+/g, ' ').trim()))
  return MESSAGES.find((group) => {
    // A wrong "intrinsic" would free a nonce that may be live, so the preceding words must be known wrapper
    // words.
    const readable = group.outcome === 'intrinsic' ? clauses.filter(({ known }) => known) : clauses
    return group.rows.some((says) => readable.some(({ text }) => stands(text, says)))
  })
}

/**
 * For a message that states both nonces: true if the transaction's nonce is above the account's. Undefined if
 * it does not state them.
 */
export function isAboveAccount(normalised: string): boolean | undefined {
  for (const { words, tx, account } of NONCE_SIDES) {
    const found = words.exec(normalised)
    if (found !== null) return Number(found[tx]) > Number(found[account])
  }
  return undefined
}

/** The account's next nonce, if the message states one. */
export function nonceHint(normalised: string): number | undefined {
  return firstNonce(NONCE_HINTS, normalised)
}

/** The highest nonce that the node accepts now, if the message states a range. */
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

// A text from the start of a clause to the end of its line. `known` is true if only known wrapper words
// precede it; otherwise unknown sentences may precede it.
type Clause = { readonly text: string; readonly known: boolean }

const LINES_MAX = 32
const CLAUSES_MAX = 16

// Separators between a wrapper's own words and the wrapped message: "err: ", "[rpc] ", "(code 1) ", "error -
// ", and gRPC's "desc = ".
const SEPARATOR = /: |\] |\) | - |; | = /g
// A message may begin with brackets, quotes and a bare number: '"nonce too low"', "-32000 nonce too low".
// op-geth quotes the inner message: "error message: 'nonce too low'".
const LEADING = /^["'`[({\s]*(?:-?\d+\s*[:,]?\s["'`[({\s]*)?/
// Nethermind's name of the result, which precedes the reason.
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

// True if the words before a separator certainly belong to a wrapper. A sentence of unknown words may not.
function isWrapper(clause: string): boolean {
  const words = clause.split(/[^a-z0-9_-]/).filter((word) => /[a-z]/.test(word) && !IDENTIFIER.test(word))
  const executes = words.some((word) => EXECUTION.test(word))
  return !executes && (words.length === 0 || words.some(isWrapperWord))
}

// Solidity code signs its messages with one unknown word and a colon. This is certainly no wrapper.
const SIGNATURE = /^[^\s:]+: /

function isWrapperWord(word: string): boolean {
  return word.split('-').some((part) => WRAPPER_WORDS.has(part))
}

// Hashes, addresses and request ids do not identify the speaker.
const IDENTIFIER = /^(?:0x)?(?=.*\d)[0-9a-f-]+$/

// The text after these words may come from a contract, passed on by a node that tried the transaction out:
// "pre-execution failed", "eth_estimateGas". A name that ends in EVM is the name of a chain.
const EXECUTION = /^evm|contract|execut|simulat|estimat|userop/

// After the matched words: the end, punctuation, a number or address, or the subject. "already known issue"
// does not match.
const TAIL =
  /^(?:$|[^a-z0-9_ -]|-[^a-z]| [^a-z]| (?:for|from|of|by|at) (?:the )?(?:account|address|sender|tx|transaction|nonce|chain|0x))/
const TAIL_CHARS = 40

// True if the clause starts with `says`. A "…" in it stands for any text, at its end for any tail.
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

/** Messages of an executed or simulated contract. The rest of such a message is not the pool's. */
const REVERT_WORDS: readonly string[] = [
  'revert',
  'vm exception',
  'vm execution error',
  'error function_selector',
]

/** Ganache 7.9 calls a refusal before execution an exception. */
const NOT_RUN = /vm exception while processing transaction: (?=transaction's (?:maxfeepergas|gasprice) \()/

/** Patterns for the account's next nonce in a message about a nonce. */
const NONCE_HINTS: readonly RegExp[] = [
  /next nonce:? (\d+)/, // geth, reth
  /gapped nonce (\d+)/, // geth's blob pool
  /tx: \d+ state: (\d+)/, // Nitro
  /current nonce \((\d+)\)/, // Avalanche
  /current nonce: (\d+)/, // Nethermind, Hedera
  /expected nonce(?: to be(?: at least)?)?:? (\d+)/, // Nethermind, EDR
  /allowed nonce range: (\d+) - \d/, // zkSync Era
  /nonce too low: expected (\d+)/,
  /account has nonce (?:of: )?(\d+)/, // Ganache, EthereumJS
  /invalid nonce; got \d+, expected (\d+)/, // Cosmos chains
]

/**
 * Messages that are the same for a nonce below and above the account's, and state both numbers. `tx` and
 * `account` are the capture groups of the transaction's nonce and the account's.
 */
const NONCE_SIDES: readonly { readonly words: RegExp; readonly tx: 1 | 2; readonly account: 1 | 2 }[] = [
  // Ganache 7.9, checked on a running node
  { words: /account has nonce of: (\d+) tx has nonce of: (\d+)/, tx: 2, account: 1 },
  // cosmos/evm ante/evm/09_increment_sequence.go
  { words: /invalid nonce; got (\d+), expected (\d+)/, tx: 1, account: 2 },
]

/** The highest nonce that a node accepts now: zkSync Era core/node/api_server/src/tx_sender/result.rs. */
const NONCE_MAX_HINT = /allowed nonce range: \d+ - (\d+)/

/**
 * Words of a clause that a wrapper puts before a node's message. A word with dashes ("op-geth", "json-rpc")
 * counts if one of its parts is listed.
 */
const WRAPPER_WORDS: ReadonlySet<string> = new Set([
  ...['err', 'error', 'errors', 'rpc', 'jsonrpc', 'failed', 'rejected', 'invalid', 'sender', 'details'],
  ...[
    'pool',
    'txpool',
    'mempool',
    'sequencer',
    'code',
    'message',
    'msg',
    'desc',
    'node',
    'upstream',
    'provider',
  ],
  ...[
    'server',
    'client',
    'backend',
    'gateway',
    'proxy',
    'response',
    'request',
    'internal',
    'call',
    'transaction',
  ],
  ...['tx', 'eth_sendrawtransaction', 'eth_sendrawtransactionsync', 'cause'],
  // Names of Erigon's results, which precede its messages.
  ...['internal_error', 'already_exists', 'fee_too_low', 'stale', 'success'],
  ...['geth', 'reth', 'base', 'erigon', 'besu', 'nethermind', 'anvil', 'hardhat', 'nitro'],
  ...[
    'alchemy',
    'infura',
    'quicknode',
    'ankr',
    'drpc',
    'chainstack',
    'tenderly',
    'blockdaemon',
    'blast',
    'web3',
  ],
])
