import type { Hex } from 'viem'
import { reportsRateLimit, retryAfterOf } from './limits.js'
import {
  isAboveAccount,
  matchMessage,
  mentionsRevert,
  nonceHint,
  nonceMaxHint,
  normalise,
} from './matchMessage.js'
import type { SendOutcome, SendReason } from './outcome.js'
import type { RpcReply } from './port.js'
import { feeNeeds } from './priceHints.js'
import { property, readStatements, type Statement } from './statements.js'

export type { SendOutcome, SendReason } from './outcome.js'

/** The context of the raw transaction that the error is about. */
export type ClassifySendErrorOptions = {
  /**
   * Set if these bytes, or other bytes with the same nonce, may have been sent before. The outcome does not
   * change: "nonce too low" does not show which transaction used the nonce. An intrinsic refusal becomes
   * `counted`, because it no longer frees the nonce. @default false
   */
  readonly resend?: boolean | undefined
}

/**
 * Classifies an error of sending a raw transaction.
 *
 * Accepts any value: a port's `RpcFailure`, a viem error (recognised by its shape, so that duplicate installs
 * do not matter), an ethers error, a JSON-RPC error object, a string. Never throws.
 *
 * `unknown` is the default. It applies to every message that is not in the table of `messages.ts`, to time
 * limits, lost connections and HTTP 5xx, and to a port's `custom` failure (`reason` then gives the meaning of
 * its words). After `unknown` the bytes may be anywhere.
 *
 * NOT guaranteed: that a refused transaction never lands, because another node may have the bytes; that an
 * accepted one is in a pool; that the numbers of `expectedNonce`, `nonceMax` and `needs` are right.
 *
 * @example
 * const { outcome, reason } = classifySendError(error)
 * if (outcome === 'intrinsic') console.log('no node can include it:', reason)
 */
export function classifySendError(error: unknown, options?: ClassifySendErrorOptions): SendOutcome {
  const statements = readStatements(error)
  if (statements.some(({ kind }) => WORDLESS.has(kind))) return unknown()
  if (isBareHttp(error)) return byCode(statements) ?? unknown()
  if (statements.some(reportsRevert)) return unknown()
  const outcome = byMessage(statements) ?? byCode(statements) ?? unknown()
  if (statements.some(notTheNodesWord)) return unknown(outcome.reason)
  return options?.resend === true && outcome.outcome === 'intrinsic' ? { ...outcome, counted: true } : outcome
}

/**
 * Classifies a reply to `eth_sendRawTransaction` or `eth_sendRawTransactionSync`. `sentHash` is the hash
 * computed before the send. A different hash in the reply, or a result that is neither hash nor receipt,
 * means `unknown`. An accepted reply has the reason `unknown`, because there is nothing to explain.
 */
export function classifyReply(
  reply: RpcReply,
  sentHash: Hex,
  options?: ClassifySendErrorOptions,
): SendOutcome {
  if (reply.ok) return isHash(hashOf(reply.result), sentHash) ? outcomeOf('accepted', 'unknown') : unknown()
  const outcome = classifySendError(reply.failure, options)
  if (outcome.reason !== 'syncTimeout') return outcome
  // geth and anvil put the hash into `data`, reth and Base only into the message.
  const hash = property(reply.failure, 'data')
  return typeof hash === 'string' && !isHash(hash, sentHash) ? unknown() : outcome
}

// A plain result is the hash. The result of the Sync method is the receipt.
function hashOf(result: unknown): unknown {
  return typeof result === 'string' ? result : property(result, 'transactionHash')
}

function isHash(value: unknown, sentHash: Hex): boolean {
  return typeof value === 'string' && value.toLowerCase() === sentHash.toLowerCase()
}

// Port failures that carry no answer of a node. An `aborted` request may have been written nevertheless.
const WORDLESS: ReadonlySet<unknown> = new Set(['timeout', 'network', 'malformed', 'aborted'])

// A page or a line of a proxy. It contains no JSON-RPC error object, so only the status counts.
function isBareHttp(error: unknown): boolean {
  return property(error, 'kind') === 'http' && property(error, 'rpc') === undefined
}

function notTheNodesWord({ kind, status }: Statement): boolean {
  return kind === 'custom' || (status ?? 0) >= 500
}

// zkSync Era gives code 3 to every refusal, with the data "0x". So code 3 means a revert only with other
// data.
function reportsRevert({ texts, code, data }: Statement): boolean {
  if (code === 'CALL_EXCEPTION') return true
  if (code === 3 && typeof data === 'string' && data.length > 2) return true
  return texts.some((text) => mentionsRevert(normalise(text)))
}

// The deepest layer comes first: it is the node's message, and the outer layers are interpretations by
// libraries. viem, for example, turns "already known" into a NonceTooLowError.
function byMessage(statements: readonly Statement[]): SendOutcome | undefined {
  for (const { texts } of [...statements].reverse()) {
    for (const text of texts) {
      const normalised = normalise(text)
      const group = matchMessage(normalised)
      if (group === undefined) continue
      const { outcome, counted = false } = group
      const reason =
        group.reason === 'nonceTooLow' && isAboveAccount(normalised) ? 'nonceTooHigh' : group.reason
      return { outcome, reason, counted, ...hintsOf(reason, normalised) }
    }
  }
  return undefined
}

type Hints = Pick<SendOutcome, 'expectedNonce' | 'nonceMax' | 'needs'>

/** The numbers that a message states about the refused transaction. */
function hintsOf(reason: SendReason, normalised: string): Hints {
  if (reason === 'nonceTooLow' || reason === 'nonceTooHigh') {
    const expectedNonce = nonceHint(normalised)
    const nonceMax = nonceMaxHint(normalised)
    return {
      ...(expectedNonce === undefined ? {} : { expectedNonce }),
      ...(nonceMax === undefined ? {} : { nonceMax }),
    }
  }
  if (reason !== 'feeTooLow' && reason !== 'replacementUnderpriced') return {}
  const needs = feeNeeds(normalised)
  return needs === undefined ? {} : { needs }
}

// Codes are not portable, so they come last, and only these are used.
function byCode(statements: readonly Statement[]): SendOutcome | undefined {
  if (statements.some(reportsRateLimit)) {
    const retryAfterMs = retryAfterOf(statements)
    const outcome = outcomeOf('refused', 'rateLimited')
    return retryAfterMs === undefined ? outcome : { ...outcome, retryAfterMs }
  }
  for (const { code, data } of [...statements].reverse()) {
    const outcome = CODES.get(code)
    if (outcome === undefined) continue
    const expectedNonce = outcome.reason === 'nonceTooHigh' ? nonceOf(data) : undefined
    return expectedNonce === undefined ? outcome : { ...outcome, expectedNonce }
  }
  return byEthersCode(statements)
}

const CODES: ReadonlyMap<unknown, SendOutcome> = new Map([
  // EIP-7966 and its later additions. With code 5 ("not ready") the transaction may or may not be in the
  // pool.
  [4, outcomeOf('accepted', 'syncTimeout')],
  [5, unknown()],
  [6, outcomeOf('refused', 'nonceTooHigh')],
  // JSON-RPC 2.0: the endpoint does not know the method. This is no refusal, because a balancer may have
  // tried other backends.
  [-32601, unknown('methodMissing')],
])

// ethers derives its codes from loose words in the node's message, so they count only if that message is
// missing.
const ETHERS_CODES: ReadonlyMap<unknown, SendOutcome> = new Map([
  ['NONCE_EXPIRED', outcomeOf('refused', 'nonceTooLow')],
  ['REPLACEMENT_UNDERPRICED', outcomeOf('refused', 'replacementUnderpriced')],
  ['INSUFFICIENT_FUNDS', outcomeOf('refused', 'insufficientFunds')],
])

function byEthersCode(statements: readonly Statement[]): SendOutcome | undefined {
  const [outer, ...inner] = statements
  if (outer === undefined || inner.some(({ texts }) => texts.length > 0)) return undefined
  return ETHERS_CODES.get(outer.code)
}

// The expected nonce in the data of code 6: a number, decimal or hex text, or an object that contains one.
function nonceOf(data: unknown): number | undefined {
  const value = typeof data === 'object' ? (property(data, 'expectedNonce') ?? property(data, 'nonce')) : data
  const isText = typeof value === 'string' && /^(?:0x[0-9a-fA-F]{1,14}|\d{1,16})$/.test(value)
  const nonce = typeof value === 'number' || isText ? Number(value) : Number.NaN
  return Number.isSafeInteger(nonce) && nonce >= 0 ? nonce : undefined
}

function outcomeOf(outcome: SendOutcome['outcome'], reason: SendReason): SendOutcome {
  return { outcome, reason, counted: false }
}

function unknown(reason: SendReason = 'unknown'): SendOutcome {
  return outcomeOf('unknown', reason)
}
