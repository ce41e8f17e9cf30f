import { type Fate, TxlaneError, type TxlaneErrorCode } from '../errors/base.js'
import type { RpcFailure, RpcReply } from './port.js'

/** What a failed read carries beside its code: safe to print and to branch on. */
export type RpcErrorContext = {
  /** The JSON-RPC method that was asked. */
  readonly method: string
  /** How it failed: the kind of the port's failure, or `malformed` for an answer that cannot be decoded. */
  readonly failure: RpcFailure['kind']
  /** The HTTP status, where there was one other than 2xx. */
  readonly status?: number
  /** The code of the JSON-RPC error object, where there was one. */
  readonly rpcCode?: number
  /** How long the server asked to be left alone. */
  readonly retryAfterMs?: number
}

/** A read that brought no result. `fate` is `notExecuted`: a read changes nothing and may be asked again. */
export type RpcError = TxlaneError & RpcErrorContext

/** The node answered, and did not do what was asked of it. */
const READ_FAILED: TxlaneErrorCode = 'REJECTED'

// -32601: JSON-RPC 2.0. -32004: EIP-1474. 4200: EIP-1193.
const UNSUPPORTED_CODES: ReadonlySet<number> = new Set([-32601, -32004, 4200])
// Gateways that answer a method they do not offer with a code of their own still say it in words.
const UNSUPPORTED_MESSAGE =
  /method\b.{0,60}\b(?:not (?:found|supported|available|allowed|enabled|whitelisted)|does not exist|is disabled|unsupported)|unsupported method/i

/** True where the node says that it does not offer the method, or the gateway forbids it. */
export function isMethodRefused(method: string, failure: RpcFailure): boolean {
  const { status, rpcCode, message } = wordOf(failure)
  if (rpcCode !== undefined && UNSUPPORTED_CODES.has(rpcCode)) return true
  if (rpcCode !== undefined && UNSUPPORTED_MESSAGE.test(message)) return true
  // Base's public endpoints forbid block receipts this way; for other methods 403 is a matter of credentials.
  return status === 403 && method === 'eth_getBlockReceipts'
}

const RATE_LIMIT_CODES: ReadonlySet<number> = new Set([429, -32007])
const RATE_LIMIT_MESSAGE =
  /rate.?limit|too many requests|requests? per|request limit|(?<!batch )limit exceeded/i

/** True for the error objects with which endpoints say "too often": -32005 and -32016 mean it only by their text. */
export function isRateLimit(code: number, message: string): boolean {
  return RATE_LIMIT_CODES.has(code) || RATE_LIMIT_MESSAGE.test(message)
}

/** The JSON-RPC error in which a failure was told, where it was told in one. */
export function rpcErrorOf(
  failure: RpcFailure,
): { readonly code: number; readonly message: string; readonly data?: unknown } | undefined {
  if (failure.kind === 'rpc') return failure
  return failure.kind === 'http' ? failure.rpc : undefined
}

/** The typed error for a failed call: `UNSUPPORTED` where the endpoint does not offer the method. */
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

/** Nothing of the node's own came back: silence, or the word of a gateway that it cannot be asked now. */
function isUnanswered(
  kind: RpcFailure['kind'],
  status: number | undefined,
  rpcCode: number | undefined,
): boolean {
  if (kind === 'timeout' || kind === 'network' || status === 429) return true
  return status !== undefined && status >= 500 && rpcCode === undefined
}

/** The typed error for an answer that cannot be what the interface documents. Names the method and the field. */
export function malformed(method: string, what: string): RpcError {
  return make(`${method} was answered with something that cannot be decoded: ${what}.`, READ_FAILED, what, {
    method,
    failure: 'malformed',
  })
}

/** What a call brought. @throws a typed error that names the method where it brought nothing */
export function resultOf(method: string, reply: RpcReply | undefined): unknown {
  if (reply?.ok) return reply.result
  throw readError(method, reply)
}

/** Why a call brought nothing; undefined: the batch had no part for it. */
export function readError(method: string, reply: Exclude<RpcReply, { ok: true }> | undefined): RpcError {
  return reply ? rpcError(method, reply.failure) : malformed(method, 'no answer')
}

/** The endpoint is not on the chain that was asked for. */
export function chainMismatch(name: string, what: string, expected: string, got: string): TxlaneError {
  return new TxlaneError(`${name} is on another chain: expected ${what} ${expected}, got ${got}.`, {
    code: 'CHAIN_MISMATCH',
    fate: 'notExecuted',
  })
}

/** Nothing came of what was waited for, in time. It may still come: `fate` is `inFlight`. */
export function waitTimeout(what: string, timeoutMs: number, cause?: unknown): TxlaneError {
  return new TxlaneError(`Waited ${timeoutMs} ms for ${what}.`, {
    code: 'WAIT_TIMEOUT',
    fate: 'inFlight',
    cause,
  })
}

/** The caller's signal ended a read (`notExecuted`) or a wait (`inFlight`: what was waited for may still come). */
export function aborted(what: string, fate: Fate, signal: AbortSignal): TxlaneError {
  const reason: unknown = signal.reason
  // By its words: a DOMException, which is the usual reason, cannot be copied as a cause.
  const details = reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason)
  return new TxlaneError(`Gave up ${what}: the signal was aborted.`, { code: 'ABORTED', fate, details })
}

const KIND_TEXT: Readonly<Record<RpcFailure['kind'], string>> = {
  rpc: 'the node answered with an error',
  http: 'the server answered with an HTTP error',
  timeout: 'no answer in time',
  network: 'the connection failed',
  malformed: 'the answer is not JSON-RPC or has no part for this call',
  aborted: 'given up before it was asked',
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

/** What was said, wherever it stands: in the failure itself, beside the HTTP status, or in a thrown error. */
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

// viem's errors are recognised by shape through their causes, since several copies of viem may be installed.
const CAUSES_MAX = 8

function thrownWord(thrown: unknown): { status?: number; rpcCode?: number } {
  const word: { status?: number; rpcCode?: number } = {}
  let error = thrown
  for (let depth = 0; depth < CAUSES_MAX && typeof error === 'object' && error !== null; depth++) {
    const { code, status, cause } = error as { code?: unknown; status?: unknown; cause?: unknown }
    // viem's code -1 stands for "unknown": the cause below may know more.
    if (typeof code === 'number' && code !== -1) word.rpcCode ??= code
    if (typeof status === 'number') word.status ??= status
    error = cause
  }
  return word
}
