import { redactForeign, redactText } from '../../errors/redact.js'
import type { Clock } from '../../platform/clock.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../port.js'
import { createRequestTimeouts } from './requestTimeout.js'
import { thrownRpcError } from './thrownError.js'

/** The request function of a viem client or transport: the second argument overrides the transport's options. */
export type CustomRequest = (
  args: { method: string; params?: unknown },
  options?: { retryCount?: number; signal?: AbortSignal },
) => Promise<unknown>

export type CustomPortOptions = {
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
