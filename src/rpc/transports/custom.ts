import { redactForeign, redactText } from '../../errors/redact.js'
import type { Clock } from '../../platform/clock.js'
import type { RpcErrorObject } from '../envelope.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../port.js'
import { readStatements, type Statement } from '../statements.js'
import { createRequestTimeouts } from './requestTimeout.js'

/** The request function of a viem client or transport: the second argument overrides the transport's options. */
export type CustomRequest = (
  args: { method: string; params?: unknown },
  options?: { retryCount?: number; signal?: AbortSignal },
) => Promise<unknown>

type CustomPortOptions = {
  readonly request: CustomRequest
  /** The transport's name. It must be safe to print. */
  readonly name: string
  /**
   * Milliseconds after which calls without an answer get a `timeout` failure; 0 disables it. @default 10,000
   */
  readonly timeoutMs?: number | undefined
  readonly clock: Clock
}

const TIMEOUT_MS = 10_000

/**
 * A port over an opaque transport. Each call is one request with viem's retries off. The calls of a batch are
 * started in order and run concurrently, so that a batching transport can batch them. A rejection with a
 * JSON-RPC code and a message is the answer of a node, and becomes an `rpc` failure like that of any other
 * port. Any other rejection becomes a `custom` failure: the transport may have sent the call to any node, any
 * number of times. The size of answers is not limited here, because the transport delivers them whole.
 */
export function createCustomPort({ request, name, clock, ...options }: CustomPortOptions): Port {
  const stats = { requests: 0, calls: 0 }
  const timeouts = createRequestTimeouts(clock)

  async function post({ method, params }: RpcCall): Promise<RpcReply> {
    stats.requests++
    stats.calls++
    try {
      // If the transport resolves with undefined, the result is null: JSON-RPC has no undefined.
      return { ok: true, result: (await request({ method, params }, { retryCount: 0 })) ?? null }
    } catch (cause) {
      const error = thrownRpcError(cause)
      if (error !== undefined) return { ok: false, failure: { kind: 'rpc', ...error } }
      return { ok: false, failure: { kind: 'custom', message: messageOf(cause), cause } }
    }
  }

  async function batch(
    calls: readonly RpcCall[],
    batchOptions: BatchOptions = {},
  ): Promise<readonly RpcReply[]> {
    const timeoutMs = batchOptions.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS
    const timeout = timeouts.begin([batchOptions.signal])
    timeout.after(timeoutMs)
    if (timeout.reason() !== undefined) return calls.map(() => notAsked)
    // Answers that arrive before the timeout are kept.
    const replies: (RpcReply | undefined)[] = calls.map(() => undefined)
    const all = calls.map(async (each, index) => {
      replies[index] = await post(each)
    })
    try {
      await Promise.race([Promise.all(all), timeout.ended])
    } catch {
      // `timeout.reason()` is read below.
    } finally {
      timeout.done()
    }
    return replies.map((reply) => reply ?? { ok: false, failure: endedFailure(timeout.reason(), timeoutMs) })
  }

  return { name: redactText(name), kind: 'custom', batch, stats, close: timeouts.close }
}

const notAsked: RpcReply = {
  ok: false,
  failure: { kind: 'aborted', message: 'aborted before it was sent' },
}

function endedFailure(reason: 'aborted' | 'timeout' | undefined, timeoutMs: number): RpcFailure {
  if (reason === 'timeout') return { kind: 'timeout', message: `no answer within ${timeoutMs} ms` }
  return { kind: 'network', message: 'aborted while waiting for the answer' }
}

function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return redactForeign(String(error))
  const { shortMessage, message } = error as { shortMessage?: unknown; message?: unknown }
  const text = typeof shortMessage === 'string' ? shortMessage : message
  return typeof text === 'string' ? redactForeign(text) : 'the transport rejected'
}

// The error range of JSON-RPC 2.0 begins at -32000 and goes down; geth's `eth_simulateV1` has codes below it.
// 3 is a revert (geth internal/ethapi/errors.go), 429 is Alchemy's rate limit.
const JSON_RPC_CODE_MAX = -32_000
const POSITIVE_CODES: ReadonlySet<unknown> = new Set([3, 429])
const SERVER_ERROR_MIN = 500
// The end of the message that viem makes for a code without a message (errors/base.ts).
const VIEMS_OWN = /\bVersion: viem@/

/**
 * The JSON-RPC error with which a transport rejected: the innermost layer with a code and a message. That
 * layer is the node's; the outer ones are made by libraries. Undefined if no layer has both, or if the HTTP
 * status is 5xx, because the message is a proxy's then.
 *
 * Other numbers are not JSON-RPC codes: -1 is viem's "unknown", 1000 to 4999 belong to sockets and wallets
 * (EIP-1193), small ones to `DOMException` and gRPC.
 */
function thrownRpcError(thrown: unknown): RpcErrorObject | undefined {
  const layers = readStatements(thrown)
  if (layers.some(({ status }) => status !== undefined && status >= SERVER_ERROR_MIN)) return undefined
  for (const { code, data, texts } of [...layers].reverse()) {
    const message = texts.find((text) => text.trim() !== '' && !VIEMS_OWN.test(text))
    if (message === undefined || !isJsonRpcCode(code)) continue
    const error = { code, message: redactForeign(message) }
    return data === undefined ? error : { ...error, data }
  }
  return undefined
}

function isJsonRpcCode(code: Statement['code']): code is number {
  if (!Number.isSafeInteger(code)) return false
  return (code as number) <= JSON_RPC_CODE_MAX || POSITIVE_CODES.has(code)
}
