import { matchMessage, normalise } from './matchMessage.js'
import type { RpcFailure, RpcReply } from './port.js'
import { readStatements, type Statement, says } from './statements.js'

/**
 * The codes of a rate limit. Not sufficient alone. -32005: EIP-1474, Infura, Chainstack, Tenderly. -32007,
 * -32012: QuickNode. -32016: Base's public endpoint. -32090: Ankr. 429: Alchemy, inside of HTTP 200. Besu gives
 * -32005 to a gas limit and -32007 to a sender, hence the words.
 */
const RATE_LIMIT_CODES: ReadonlySet<unknown> = new Set([-32005, -32007, -32012, -32016, -32090, 429])

export const isLimitCode = (code: unknown): boolean => RATE_LIMIT_CODES.has(code)

/** Words that mean a rate limit beside one of the codes. */
const RATE_LIMIT_WORDS: readonly string[] = [
  'rate limit',
  'rate-limit',
  'ratelimit',
  'rate exceeded',
  'too many requests',
  'request limit',
  'requests per',
  'requests capacity',
  'rps limit',
  'credits limited',
  'compute units',
  'throughput',
  'throttl',
  'limit exceeded',
  'limit reached',
  'request count exceeded',
  'quota',
]

/** Words that mean a rate limit with any code. */
const RATE_LIMIT_TEXT = /rate.?limit|too many requests|requests? per|request limit|limit exceeded/i

/** Words of gateways that cannot ask a node now. They say nothing about the call. */
const OVERLOAD_TEXT =
  /too many|limit reached|over capacity|capacity|overload|throttl|busy|time[d ]?-? ?out|deadline exceeded|try again/i

// geth ends a batch whose answer would be too large with "response too large" for the remaining calls.
const BATCH_TEXT = /\bbatch|response too large|too many (?:calls|requests) in/i

/** True if a text is about a batch, not about its calls or their rate. */
export function mentionsBatch(text: string): boolean {
  return BATCH_TEXT.test(text)
}

/** True if a layer of an error reports a rate limit by its status, or by its code and its words. */
export function reportsRateLimit({ code, status, texts }: Statement): boolean {
  if (status === 429) return true
  return isLimitCode(code) && texts.some((text) => mentionsRateLimit(normalise(text)))
}

function mentionsRateLimit(normalised: string): boolean {
  return RATE_LIMIT_WORDS.some((words) => normalised.includes(words))
}

/** The first pause in milliseconds that a layer asks for. */
export function retryAfterOf(statements: readonly Statement[]): number | undefined {
  return statements.find(({ retryAfterMs }) => retryAfterMs !== undefined)?.retryAfterMs
}

/**
 * The rate limit because of which the endpoint refused the call; undefined if that was not the reason. A send
 * has stricter rules (`classify.ts`): without one of the codes its bytes may be anywhere.
 */
export function rateLimitOf(failure: RpcFailure): { readonly retryAfterMs: number | undefined } | undefined {
  const statements = statementsOf(failure)
  if (says(statements, BATCH_TEXT) || !areLimited(statements)) return undefined
  return { retryAfterMs: retryAfterOf(statements) }
}

export function isRateLimit(failure: RpcFailure): boolean {
  return rateLimitOf(failure) !== undefined
}

function areLimited(statements: readonly Statement[]): boolean {
  const isLimit = (one: Statement) => one.code === 429 || reportsRateLimit(one)
  if (!statements.some(isLimit) && !says(statements, RATE_LIMIT_TEXT)) return false
  return !areOfPool(statements)
}

/** A pool has limits of its own: "account limit exceeded" is about the transaction. */
function areOfPool(statements: readonly Statement[]): boolean {
  return statements.some(({ texts }) => texts.some((text) => matchMessage(normalise(text)) !== undefined))
}

/**
 * True if the failure is about the endpoint's state of the moment: a rate limit, an overload, a time limit. The
 * same call may succeed a moment later, so the failure answers nothing.
 */
export function isBusy(failure: RpcFailure): boolean {
  const statements = statementsOf(failure)
  return areLimited(statements) || (says(statements, OVERLOAD_TEXT) && !areOfPool(statements))
}

/** True if the failure has one of the codes of a rate limit, whatever its words. */
export function hasLimitCode(failure: RpcFailure): boolean {
  return statementsOf(failure).some(({ code }) => isLimitCode(code))
}

/** True if the node itself refused the call: the failure is an answer, although without a result. */
export function isNodesAnswer(reply: Exclude<RpcReply, { ok: true }>): boolean {
  return reply.failure.kind === 'rpc' && !isBusy(reply.failure)
}

/** Only these kinds contain words of a node or a gateway. */
function statementsOf(failure: RpcFailure): readonly Statement[] {
  const hasWords = failure.kind === 'rpc' || failure.kind === 'http' || failure.kind === 'custom'
  return hasWords ? readStatements(failure) : []
}
