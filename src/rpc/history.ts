import type { RpcFailure } from './port.js'
import { readStatements, says } from './statements.js'

// geth "missing trie node …", "required historical state unavailable", "historical state … is not available",
// "pruned history unavailable"; reth "state at block #… is pruned"; Nethermind "MissingTrieNodeException" and "No
// state available for block"; Besu "World state unavailable"; Erigon "old data not available due to pruning";
// hosted nodes that sell archive access say "archive".
const NO_HISTORY =
  /missing ?trie ?node|\bprun|historical state|world ?state|\bstate\b.{0,80}(?:\bnot |\bun)available|no state available|\barchive\b/i

// Gateways say these with any code when they are busy: that is no word on history.
const BUSY =
  /rate.?limit|too many|limit (?:exceeded|reached)|over capacity|capacity|overload|throttl|busy|time[d ]?-? ?out|try again/i

// -32005: EIP-1474. -32016: Base's public endpoints, "over rate limit". 429: gateways that repeat the HTTP status.
const BUSY_CODES: ReadonlySet<unknown> = new Set([-32005, -32016, 429])

// What is missing is a state: a header is in none.
const OF_STATE = /\btrie|\bstate\b|world ?state/i

/** True where the node says, in words we know, that it no longer has a block. */
export function isBlockGone(failure: RpcFailure): boolean {
  return isHistoryGone(failure) && !says(readStatements(failure), OF_STATE)
}

/** True where the node says, in words we know, that it no longer has what was asked. */
function isHistoryGone(failure: RpcFailure): boolean {
  return (
    (failure.kind === 'rpc' || failure.kind === 'http' || failure.kind === 'custom') &&
    says(readStatements(failure), NO_HISTORY)
  )
}

/**
 * True where the node itself says that it does not serve what was asked. Clients put it in too many words to list,
 * so that any error object counts, save those that tell of a rate limit or a deadline; where the node's word can
 * only be guessed at (an HTTP error, a custom transport), it must be one of the words known.
 */
export function isHistoryRefused(failure: RpcFailure): boolean {
  if (isHistoryGone(failure)) return true
  if (failure.kind !== 'rpc') return false
  const statements = readStatements(failure)
  return !(says(statements, BUSY) || statements.some(({ code }) => BUSY_CODES.has(code)))
}
