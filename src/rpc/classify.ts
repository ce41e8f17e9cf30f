import type { Hex } from 'viem'
import {
  isAboveAccount,
  matchMessage,
  nonceHint,
  nonceMaxHint,
  normalise,
  tellsOfRateLimit,
  tellsOfRevert,
} from './matchMessage.js'
import type { SendOutcome, SendReason } from './outcome.js'
import type { RpcReply } from './port.js'
import { feeNeeds } from './priceHints.js'
import { property, readStatements, type Statement } from './statements.js'

export type { SendOutcome, SendReason } from './outcome.js'

/** What is known of the bytes that the error is about. */
export type ClassifySendErrorOptions = {
  /**
   * These bytes, or other bytes with the same nonce, may have been sent before. The outcome stays the same: "nonce
   * too low" is no evidence then either, whoever used the nonce. An intrinsic refusal is `counted` then, since it no
   * longer frees the nonce.
   * @default false
   */
  readonly resend?: boolean | undefined
}

/**
 * What an error that came back from sending a raw transaction means.
 *
 * Takes anything: a port's `RpcFailure`, a viem error (recognised by its shape, so that duplicate installs do not
 * matter), an ethers error, a JSON-RPC error object, a string. Never throws.
 *
 * `unknown` is the default: it is the answer for every message that is not in the table of `messages.ts`, for time
 * limits, lost connections and HTTP 5xx, and for a port's `custom` failure (its `reason` tells what the words would
 * mean). After it the bytes may be anywhere.
 *
 * NOT guaranteed: that a refused transaction never lands, since another node may have the bytes; that an accepted
 * one is pooled; that the numbers of `expectedNonce`, `nonceMax` and
 * `needs` are right.
 *
 * @example
 * const { outcome, reason } = classifySendError(error)
 * if (outcome === 'intrinsic') console.log('no node can include it:', reason)
 */
export function classifySendError(error: unknown, options?: ClassifySendErrorOptions): SendOutcome {
  const statements = readStatements(error)
  if (statements.some(({ kind }) => WORDLESS.has(kind))) return unknown()
  if (isBareHttp(error)) return byCode(statements) ?? unknown()
  if (statements.some(tellsRevert)) return unknown()
  const outcome = byMessage(statements) ?? byCode(statements) ?? unknown()
  if (statements.some(notTheNodesWord)) return unknown(outcome.reason)
  return options?.resend === true && outcome.outcome === 'intrinsic' ? { ...outcome, counted: true } : outcome
}

/**
 * What a reply to `eth_sendRawTransaction` or `eth_sendRawTransactionSync` means, for the transaction whose hash was
 * computed before it was sent. Another hash than that one, and a result that is neither hash nor receipt, mean
 * `unknown`. An accepted reply has the reason `unknown`: there is nothing to tell.
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

// A plain result is the hash; that of the Sync form is the receipt.
function hashOf(result: unknown): unknown {
  return typeof result === 'string' ? result : property(result, 'transactionHash')
}

function isHash(value: unknown, sentHash: Hex): boolean {
  return typeof value === 'string' && value.toLowerCase() === sentHash.toLowerCase()
}

// Failures of a port in which no word of a node is to be had. `aborted` may have been written all the same.
const WORDLESS: ReadonlySet<unknown> = new Set(['timeout', 'network', 'malformed', 'aborted'])

// A page or a line of a proxy: no JSON-RPC error object, so that nothing but the status counts.
function isBareHttp(error: unknown): boolean {
  return property(error, 'kind') === 'http' && property(error, 'rpc') === undefined
}

function notTheNodesWord({ kind, status }: Statement): boolean {
  return kind === 'custom' || (status ?? 0) >= 500
}

// zkSync Era gives code 3 to every refusal, with the data "0x": only data beside it tells of a revert.
function tellsRevert({ texts, code, data }: Statement): boolean {
  if (code === 'CALL_EXCEPTION') return true
  if (code === 3 && typeof data === 'string' && data.length > 2) return true
  return texts.some((text) => tellsOfRevert(normalise(text)))
}

// The deepest layer first: that is the node's, the outer ones are what libraries made of it. viem, for one, calls
// "already known" a NonceTooLowError.
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

/** The numbers that a message states about what it refuses. */
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

// Codes are not portable, hence last, and only these.
function byCode(statements: readonly Statement[]): SendOutcome | undefined {
  if (statements.some(tellsRateLimit)) {
    const retryAfterMs = statements.find((statement) => statement.retryAfterMs !== undefined)?.retryAfterMs
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

// -32005: EIP-1474, Infura, Chainstack, Tenderly. -32007, -32012: QuickNode. -32016: Base's public endpoint. -32090:
// Ankr. 429: Alchemy, inside of HTTP 200. Besu gives -32005 to a gas limit and -32007 to a sender, hence the words.
const RATE_LIMIT_CODES: ReadonlySet<unknown> = new Set([-32005, -32007, -32012, -32016, -32090, 429])

function tellsRateLimit({ code, status, texts }: Statement): boolean {
  if (status === 429) return true
  return RATE_LIMIT_CODES.has(code) && texts.some((text) => tellsOfRateLimit(normalise(text)))
}

const CODES: ReadonlyMap<unknown, SendOutcome> = new Map([
  // EIP-7966 and what was added to it; 5 ("not ready") may or may not have been added to the pool.
  [4, outcomeOf('accepted', 'syncTimeout')],
  [5, unknown()],
  [6, outcomeOf('refused', 'nonceTooHigh')],
  // JSON-RPC 2.0: the endpoint does not know the method. A balancer may have tried it elsewhere: not refused.
  [-32601, unknown('methodMissing')],
])

// ethers finds its codes by loose words in the node's message, so they count only where that message is gone.
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

// The expected nonce in the data of code 6: a number, decimal or hex text, or an object that holds one.
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
