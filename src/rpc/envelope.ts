import type { RpcCall, RpcFailure, RpcReply } from './port.js'

/** The JSON-RPC error object, as kept in a failure. */
export type RpcErrorObject = { readonly code: number; readonly message: string; readonly data?: unknown }

/**
 * A batch of several calls that was answered with one error object. It does not concern a single call,
 * because parts of the batch may have run. So each call gets a `malformed` failure (unknown, for a send) that
 * carries the error as an explanation.
 */
export type BatchRefusal = Extract<RpcFailure, { kind: 'malformed' }> & { readonly ofBatch: RpcErrorObject }

/** The error with which the server answered the whole batch, if this failure is of that kind. */
export function batchRefusal(failure: RpcFailure): RpcErrorObject | undefined {
  return failure.kind === 'malformed' && 'ofBatch' in failure ? (failure as BatchRefusal).ofBatch : undefined
}

/** True if the answer was larger than the port accepts. A smaller batch may get a smaller answer. */
export function isCut(failure: RpcFailure): boolean {
  return failure.kind === 'malformed' && failure.cut === true
}

/** The body of one request: an object for a single call, an array for several; ids ascend from `firstId`. */
export function encodeCalls(calls: readonly RpcCall[], firstId: number): string {
  const requests = calls.map(({ method, params }, index) => {
    return { jsonrpc: '2.0', id: firstId + index, method, params }
  })
  return JSON.stringify(requests.length === 1 ? requests[0] : requests)
}

/**
 * Assigns a server's answers to `count` calls with ids from `firstId`. Answers may come in any order, in
 * part, or with ids echoed as strings. The first answer to an id counts.
 */
export function decodeAnswers(body: unknown, firstId: number, count: number): RpcReply[] {
  if (Array.isArray(body)) return decodeArray(body, firstId, count)
  if (count === 1) return [decodeOnly(body, firstId)]
  const error = errorObject(body)
  if (error !== undefined && positionOf(body, firstId, count) === undefined) {
    const failure: BatchRefusal = {
      kind: 'malformed',
      message: `the batch was answered with one error: ${error.message}`,
      ofBatch: error,
    }
    return new Array<RpcReply>(count).fill({ ok: false, failure })
  }
  return decodeArray([body], firstId, count)
}

function decodeArray(items: readonly unknown[], firstId: number, count: number): RpcReply[] {
  const replies = new Array<RpcReply | undefined>(count).fill(undefined)
  for (const item of items) {
    const position = positionOf(item, firstId, count)
    if (position !== undefined) replies[position] ??= decodeAnswer(item)
  }
  return replies.map((reply) => reply ?? NO_PART)
}

const NO_PART: RpcReply = {
  ok: false,
  failure: { kind: 'malformed', message: 'no answer has the id of this call' },
}

/** The answer to a single call. An error may lack the id (a server that could not read the id sends null). */
function decodeOnly(body: unknown, id: number): RpcReply {
  if (positionOf(body, id, 1) === 0) return decodeAnswer(body)
  const error = errorObject(body)
  const answeredId = (body as { id?: unknown } | null)?.id ?? null
  return error !== undefined && answeredId === null
    ? { ok: false, failure: { kind: 'rpc', ...error } }
    : NO_PART
}

function decodeAnswer(item: unknown): RpcReply {
  const error = errorObject(item)
  if (error !== undefined) return { ok: false, failure: { kind: 'rpc', ...error } }
  const answer = item as { result?: unknown; error?: unknown }
  // Some servers send `"error": null` beside a result.
  if (answer.result !== undefined && (answer.error ?? null) === null)
    return { ok: true, result: answer.result }
  return {
    ok: false,
    failure: { kind: 'malformed', message: 'the answer has neither a result nor an error object' },
  }
}

/** The position of the call that an answer belongs to: its id minus the first id of the request. */
function positionOf(item: unknown, firstId: number, count: number): number | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const { id } = item as { id?: unknown }
  const number =
    typeof id === 'number' ? id : typeof id === 'string' && /^\d+$/.test(id) ? Number(id) : undefined
  if (number === undefined) return undefined
  const position = number - firstId
  return Number.isInteger(position) && position >= 0 && position < count ? position : undefined
}

/** The error object of an answer, if it is well-formed. */
export function errorObject(item: unknown): RpcErrorObject | undefined {
  const error = typeof item === 'object' && item !== null ? (item as { error?: unknown }).error : undefined
  if (typeof error !== 'object' || error === null) return undefined
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown }
  if (typeof code !== 'number' || typeof message !== 'string') return undefined
  return data === undefined ? { code, message } : { code, message, data }
}

// Ids stay below 2^31, because some servers parse an id as an i32, and far above the ids that viem counts
// from 0: on a shared WebSocket, viem dispatches an answer by its id alone.
const FIRST = 1_000_000_000
const LAST = 2_000_000_000

const KEY = Symbol.for('txlane.rpc.nextCallId')

/**
 * Reserves `count` consecutive ids that no other open call of this process uses, and returns the first. The
 * counter is on `globalThis`, because an ESM and a CJS copy of the package may share one of viem's sockets.
 */
export function takeCallIds(count: number): number {
  const shared = globalThis as { [KEY]?: number }
  const next = shared[KEY] ?? FIRST
  const first = next + count > LAST ? FIRST : next
  shared[KEY] = first + count
  return first
}
