import { normalise, tellsOfRevert } from './matchMessage.js'
import type { SendOutcome } from './outcome.js'
import type { RpcFailure, RpcReply } from './port.js'

/**
 * Words about the endpoint and not about the bytes: it, or a proxy before it, could not do its work now. After them the
 * bytes may be anywhere, and the same request may be answered otherwise a moment later.
 */
const PASSING_WORDS: readonly string[] = [
  'internal',
  'timeout',
  'timed out',
  'deadline',
  'cancel',
  'temporar',
  'try again',
  'retry',
  'later',
  'busy',
  'unavailable',
  'overload',
  'not ready',
  'starting',
  'sync',
  'shutting',
  'maintenance',
  'connect',
  'upstream',
  'gateway',
  'backend',
  'proxy',
  'limit exceeded',
  'rate limit',
  'too many',
  'quota',
  'throttl',
  'capacity',
  'unauthorized',
  'forbidden',
  'api key',
  'panic',
  'crash',
  'database',
  'went wrong',
  // The state or the block that a check of the bytes needs is missing: a backend that lags, prunes or starts.
  'not found',
  'not available',
  'missing trie',
  'in progress',
  'unknown block',
  // A backend's own line to another one.
  'closed',
  'eof',
  'econn',
  'broken pipe',
  'hang up',
  'no such host',
]

// The code 5 of EIP-7966 and a method that is missing are no word on the bytes; the others are rate limits (classify.ts),
// and -32603 is the internal error of JSON-RPC 2.0.
const PASSING_CODES: ReadonlySet<number> = new Set([
  4, 5, 429, -32601, -32603, -32005, -32007, -32012, -32016, -32090,
])

/**
 * Whether a node answered a send with a refusal of its own, in words that the table of messages does not have. A
 * timeout, an HTTP error without a JSON-RPC error, a malformed answer, a rate limit, a revert and what a custom
 * transport rejects with are none.
 */
export function isExplicitRefusal(reply: RpcReply | undefined, { outcome, reason }: SendOutcome): boolean {
  if (outcome !== 'unknown' || reason !== 'unknown') return false
  return reply !== undefined && !reply.ok && isExplicit(reply.failure)
}

/** Whether a failure is the node's own word on what was asked for, and not one on the endpoint's own state. */
export function isExplicit(failure: RpcFailure): boolean {
  const error = rpcErrorOf(failure)
  return error !== undefined && !PASSING_CODES.has(error.code) && isAboutTheRequest(error.message)
}

function isAboutTheRequest(message: string): boolean {
  const text = normalise(message)
  if (text.trim() === '' || tellsOfRevert(text)) return false
  return !PASSING_WORDS.some((words) => text.includes(words))
}

function rpcErrorOf(failure: RpcFailure): { code: number; message: string } | undefined {
  if (failure.kind === 'rpc') return failure
  return failure.kind === 'http' && failure.status < 500 ? failure.rpc : undefined
}
