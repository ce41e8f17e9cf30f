import { isLimitCode } from './limits.js'
import { mentionsRevert, normalise } from './matchMessage.js'
import type { SendOutcome } from './outcome.js'
import type { RpcFailure, RpcReply } from './port.js'

/**
 * Messages about the state of the endpoint, not about the bytes: it, or a proxy before it, could not process
 * the request. After them the bytes may be anywhere, and the same request may get another answer a moment
 * later.
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
  // The state or the block that is needed to check the bytes is missing: a backend lags, prunes or is
  // starting.
  'not found',
  'not available',
  'missing trie',
  'in progress',
  'unknown block',
  // A backend's own connection to another backend failed.
  'closed',
  'eof',
  'econn',
  'broken pipe',
  'hang up',
  'no such host',
]

// Codes 4 and 5 of EIP-7966 and a missing method say nothing about the bytes. -32603 is the internal error of
// JSON-RPC 2.0.
const PASSING_CODES: ReadonlySet<number> = new Set([4, 5, -32601, -32603])

/**
 * True if a node refused a send explicitly, in a message that the table does not contain. A timeout, an HTTP
 * error without a JSON-RPC error, a malformed answer, a rate limit, a revert and the rejection of a custom
 * transport are no explicit refusals.
 */
export function isExplicitRefusal(reply: RpcReply | undefined, { outcome, reason }: SendOutcome): boolean {
  if (outcome !== 'unknown' || reason !== 'unknown') return false
  return reply !== undefined && !reply.ok && isExplicit(reply.failure)
}

/** True if a failure is the node's answer about the request, not about the endpoint's own state. */
export function isExplicit(failure: RpcFailure): boolean {
  const error = rpcErrorOf(failure)
  if (error === undefined || PASSING_CODES.has(error.code) || isLimitCode(error.code)) return false
  return isAboutTheRequest(error.message)
}

function isAboutTheRequest(message: string): boolean {
  const text = normalise(message)
  if (text.trim() === '' || mentionsRevert(text)) return false
  return !PASSING_WORDS.some((words) => text.includes(words))
}

function rpcErrorOf(failure: RpcFailure): { code: number; message: string } | undefined {
  if (failure.kind === 'rpc') return failure
  return failure.kind === 'http' && failure.status < 500 ? failure.rpc : undefined
}
