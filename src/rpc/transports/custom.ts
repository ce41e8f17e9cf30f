import { redactForeign, redactText } from '../../errors/redact.js'
import type { Clock } from '../../platform/clock.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../port.js'
import { createGiveUps } from './requestTimeout.js'
import { thrownRpcError } from './thrownError.js'

/** The request function of a viem client or transport: the second argument overrides the transport's options. */
export type CustomRequest = (
  args: { method: string; params?: unknown },
  options?: { retryCount?: number; signal?: AbortSignal },
) => Promise<unknown>

export type CustomPortOptions = {
  readonly request: CustomRequest
  /** The transport's name, as it may be printed. */
  readonly name: string
  /** Milliseconds until calls without an answer get a `timeout` failure; 0 for none. @default 10,000 */
  readonly timeoutMs?: number | undefined
  readonly clock: Clock
}

const TIMEOUT_MS = 10_000

/**
 * A port over a transport whose inside cannot be seen. Each call is one request with viem's retries off; those of a
 * batch are started in order and run side by side, so that a transport that batches can do so. A rejection with a
 * JSON-RPC code and a message is the word of a node, and an `rpc` failure like that of any other port; any other
 * rejection is a `custom` failure: the transport may have sent the call anywhere, any number of times. How large an
 * answer may be is the transport's own matter: it arrives whole.
 */
export function createCustomPort({ request, name, clock, ...options }: CustomPortOptions): Port {
  const stats = { requests: 0, calls: 0 }
  const giveUps = createGiveUps(clock)

  async function post({ method, params }: RpcCall): Promise<RpcReply> {
    stats.requests++
    stats.calls++
    try {
      // A transport that answers nothing answers null: JSON-RPC has no other word for it.
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
    const giveUp = giveUps.begin([batchOptions.signal])
    giveUp.after(timeoutMs)
    if (giveUp.reason() !== undefined) return calls.map(() => notAsked)
    // What was answered before the time was up stays answered.
    const replies: (RpcReply | undefined)[] = calls.map(() => undefined)
    const all = calls.map(async (each, index) => {
      replies[index] = await post(each)
    })
    try {
      await Promise.race([Promise.all(all), giveUp.ended])
    } catch {
      // The reason is read below.
    } finally {
      giveUp.done()
    }
    return replies.map((reply) => reply ?? { ok: false, failure: endedFailure(giveUp.reason(), timeoutMs) })
  }

  return { name: redactText(name), kind: 'custom', batch, stats, close: giveUps.close }
}

const notAsked: RpcReply = {
  ok: false,
  failure: { kind: 'aborted', message: 'given up before it was asked' },
}

function endedFailure(reason: 'aborted' | 'timeout' | undefined, timeoutMs: number): RpcFailure {
  if (reason === 'timeout') return { kind: 'timeout', message: `no answer within ${timeoutMs} ms` }
  return { kind: 'network', message: 'given up while waiting for the answer' }
}

function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return redactForeign(String(error))
  const { shortMessage, message } = error as { shortMessage?: unknown; message?: unknown }
  const text = typeof shortMessage === 'string' ? shortMessage : message
  return typeof text === 'string' ? redactForeign(text) : 'the transport rejected'
}
