import { type Fate, TxlaneError, type TxlaneErrorCode } from '../errors/base.js'
import type { RpcFailure, RpcReply } from './port.js'

/** The fields of a failed read beside its code. They are safe to print and to branch on. */
export type RpcErrorContext = {
  /** The JSON-RPC method that was called. */
  readonly method: string
  /** The kind of the port's failure, or `malformed` for an answer that cannot be decoded. */
  readonly failure: RpcFailure['kind']
  /** The HTTP status, if it was not 2xx. */
  readonly status?: number
  /** The code of the JSON-RPC error object, if there was one. */
  readonly rpcCode?: number
  /** The pause in milliseconds that the server asked for. */
  readonly retryAfterMs?: number
}

/** A read without a result. `fate` is `notExecuted`: a read changes nothing and may be repeated. */
export type RpcError = TxlaneError & RpcErrorContext

/** The node answered, but did not do the requested work. */
const READ_FAILED: TxlaneErrorCode = 'REJECTED'

// -32601: JSON-RPC 2.0. -32004: EIP-1474. 4200: EIP-1193.
const UNSUPPORTED_CODES: ReadonlySet<number> = new Set([-32601, -32004, 4200])
// Some gateways answer an unsupported method with a code of their own, but still name the reason in words.
const UNSUPPORTED_MESSAGE =
  /method\b.{0,60}\b(?:not (?:found|supported|available|allowed|enabled|whitelisted)|does not exist|is disabled|unsupported)|unsupported method/i

/** True if the node reports that it does not support the method, or the gateway forbids it. */
export function isMethodRefused(method: string, failure: RpcFailure): boolean {
  const { status, rpcCode, message } = wordOf(failure)
  if (rpcCode !== undefined && UNSUPPORTED_CODES.has(rpcCode)) return true
  if (rpcCode !== undefined && UNSUPPORTED_MESSAGE.test(message)) return true
  // Base's public endpoints forbid block receipts with 403. For other methods 403 means missing credentials.
  return status === 403 && method === 'eth_getBlockReceipts'
}

/** The JSON-RPC error that a failure contains, if any. */
export function rpcErrorOf(
  failure: RpcFailure,
): { readonly code: number; readonly message: string; readonly data?: unknown } | undefined {
  if (failure.kind === 'rpc') return failure
  return failure.kind === 'http' ? failure.rpc : undefined
}

/** The typed error for a failed call; `UNSUPPORTED` if the endpoint does not support the method. */
export function rpcError(method: string, failure: RpcFailure): RpcError {
  const { status, rpcCode, message, retryAfterMs } = wordOf(failure)
  const context: RpcErrorContext = {
    method,
    failure: failure.kind,
    ...(status === undefined ? {} : { status }),
    ...(rpcCode === undefined ? {} : { rpcCode }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
  const said = [
    ...(status === undefined ? [] : [`HTTP status ${status}`]),
    ...(rpcCode === undefined ? [] : [`code ${rpcCode}`]),
    message,
  ].join(', ')
  if (isMethodRefused(method, failure)) {
    return make(`The endpoint does not offer ${method}.`, 'UNSUPPORTED', said, context, causeOf(failure))
  }
  const code = isUnanswered(failure.kind, status, rpcCode) ? 'UNREACHABLE' : READ_FAILED
  return make(`${method} failed: ${KIND_TEXT[failure.kind]}.`, code, said, context, causeOf(failure))
}

/** True if the node itself gave no answer: silence, or a gateway's message that it cannot be asked now. */
function isUnanswered(
  kind: RpcFailure['kind'],
  status: number | undefined,
  rpcCode: number | undefined,
): boolean {
  if (kind === 'timeout' || kind === 'network' || kind === 'aborted' || status === 429) return true
  return status !== undefined && status >= 500 && rpcCode === undefined
}

/**
 * The typed error for an answer that violates the documented interface. It names the method and the field.
 */
export function malformed(method: string, what: string): RpcError {
  return make(`${method} was answered with something that cannot be decoded: ${what}.`, READ_FAILED, what, {
    method,
    failure: 'malformed',
  })
}

/**
 * The result of a call.
 *
 * @throws a typed error that names the method if the call has no result
 */
export function resultOf(method: string, reply: RpcReply | undefined): unknown {
  if (reply?.ok) return reply.result
  throw readError(method, reply)
}

/**
 * The error of a call without a result. Undefined as reply means that the batch answer had no part for the
 * call.
 */
export function readError(method: string, reply: Exclude<RpcReply, { ok: true }> | undefined): RpcError {
  return reply ? rpcError(method, reply.failure) : malformed(method, 'no answer')
}

/** The error for an endpoint on another chain than the expected one. */
export function chainMismatch(name: string, what: string, expected: string, got: string): TxlaneError {
  return new TxlaneError(`${name} is on another chain: expected ${what} ${expected}, got ${got}.`, {
    code: 'CHAIN_MISMATCH',
    fate: 'notExecuted',
  })
}

/** The error for a wait that timed out. The awaited event may still happen, so `fate` is `inFlight`. */
export function waitTimeout(what: string, timeoutMs: number, cause?: unknown): TxlaneError {
  return new TxlaneError(`Waited ${timeoutMs} ms for ${what}.`, {
    code: 'WAIT_TIMEOUT',
    fate: 'inFlight',
    cause,
  })
}

/**
 * The error for a read (`notExecuted`) or a wait (`inFlight`, because the event may still happen) that the
 * caller's signal ended.
 */
export function aborted(what: string, fate: Fate, signal: AbortSignal): TxlaneError {
  const reason: unknown = signal.reason
  // Only the text is kept: a DOMException, the usual reason, cannot be copied as a cause.
  const details = reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason)
  return new TxlaneError(`Gave up ${what}: the signal was aborted.`, { code: 'ABORTED', fate, details })
}

const KIND_TEXT: Readonly<Record<RpcFailure['kind'], string>> = {
  rpc: 'the node answered with an error',
  http: 'the server answered with an HTTP error',
  timeout: 'no answer in time',
  network: 'the connection failed',
  malformed: 'the answer is not JSON-RPC or has no part for this call',
  aborted: 'aborted before it was sent',
  custom: 'the transport rejected',
}

function make(
  shortMessage: string,
  code: TxlaneErrorCode,
  details: string,
  context: RpcErrorContext,
  cause?: unknown,
): RpcError {
  return Object.assign(new TxlaneError(shortMessage, { code, fate: 'notExecuted', details, cause }), context)
}

function causeOf(failure: RpcFailure): unknown {
  return failure.kind === 'custom' ? failure.cause : undefined
}

type Word = {
  readonly message: string
  readonly status?: number | undefined
  readonly rpcCode?: number | undefined
  readonly retryAfterMs?: number | undefined
}

/**
 * The reported status and code, from the failure itself, from beside the HTTP status, or from a thrown error.
 */
function wordOf(failure: RpcFailure): Word {
  switch (failure.kind) {
    case 'rpc':
      return { message: failure.message, rpcCode: failure.code }
    case 'http':
      return {
        message: failure.rpc?.message ?? failure.message,
        status: failure.status,
        rpcCode: failure.rpc?.code,
        retryAfterMs: failure.retryAfterMs,
      }
    case 'custom':
      return { message: failure.message, ...thrownWord(failure.cause) }
    default:
      return { message: failure.message }
  }
}

// viem's errors are recognised by their shape through their causes, because several copies of viem may be
// installed.
const CAUSES_MAX = 8

function thrownWord(thrown: unknown): { status?: number; rpcCode?: number } {
  const word: { status?: number; rpcCode?: number } = {}
  let error = thrown
  for (let depth = 0; depth < CAUSES_MAX && typeof error === 'object' && error !== null; depth++) {
    const { code, status, cause } = error as { code?: unknown; status?: unknown; cause?: unknown }
    // viem's code -1 means "unknown". The cause below may have the real code.
    if (typeof code === 'number' && code !== -1) word.rpcCode ??= code
    if (typeof status === 'number') word.status ??= status
    error = cause
  }
  return word
}
