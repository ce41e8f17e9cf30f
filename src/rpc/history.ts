import { hasLimitCode, isBusy } from './limits.js'
import type { RpcFailure } from './port.js'
import { readStatements, says } from './statements.js'

// geth "missing trie node …", "required historical state unavailable", "historical state … is not available",
// "pruned history unavailable"; reth "state at block #… is pruned"; Nethermind "MissingTrieNodeException" and "No
// state available for block"; Besu "World state unavailable"; Erigon "old data not available due to pruning";
// hosted nodes that sell archive access say "archive".
const NO_HISTORY =
  /missing ?trie ?node|\bprun|historical state|world ?state|\bstate\b.{0,80}(?:\bnot |\bun)available|no state available|\barchive\b/i

// A missing state must be named. A header does not belong to a state.
const OF_STATE = /\btrie|\bstate\b|world ?state/i

/** True if the node reports, in known words, that it no longer has a block. */
export function isBlockGone(failure: RpcFailure): boolean {
  return isHistoryGone(failure) && !says(readStatements(failure), OF_STATE)
}

/** True if the node reports, in known words, that it no longer has the requested data. */
function isHistoryGone(failure: RpcFailure): boolean {
  return (
    (failure.kind === 'rpc' || failure.kind === 'http' || failure.kind === 'custom') &&
    says(readStatements(failure), NO_HISTORY)
  )
}

/**
 * True if the node itself reports that it does not serve the requested data. Clients phrase this in too many
 * ways to list, so any error object counts, unless it reports a rate limit or a deadline. If the node's
 * message has to be guessed (an HTTP error, a custom transport), it must be in known words.
 */
export function isHistoryRefused(failure: RpcFailure): boolean {
  if (isHistoryGone(failure)) return true
  return failure.kind === 'rpc' && !isBusy(failure) && !hasLimitCode(failure)
}
