import { redactForeign, redactText, redactUrl } from '../../errors/redact.js'
import type { Clock } from '../../platform/clock.js'
import { encodeCalls } from '../envelope.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../port.js'
import { RESPONSE_BYTES_MAX } from './boundedText.js'
import { takeCallIds } from './callIds.js'
import { createFrames, type Frames } from './frames.js'
import { createRequestTimeouts } from './requestTimeout.js'

/** The part of viem's socket that the port uses. */
export type SocketLike = {
  readonly readyState: number
  send(data: string): void
  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void
}

/** The part of viem's socket client that the port uses. The client connects, pings, and reconnects. */
export type SocketClientLike = { readonly socket: SocketLike; readonly url: string; close(): void }

export type WebSocketPortOptions = {
  /** `client.transport.getRpcClient` of a viem `webSocket` client. */
  readonly getRpcClient: () => Promise<SocketClientLike>
  /** The transport's name. It is the port's name until the URL is known, after the first connection. */
  readonly name: string
  /**
   * Milliseconds after which calls without an answer get a `timeout` failure; 0 disables it. @default 10,000
   */
  readonly timeoutMs?: number | undefined
  /**
   * Maximum number of characters of one frame. A larger one is not parsed, and every open call becomes
   * `malformed`. Not guaranteed: the memory that the socket itself uses for an incoming frame, which has its
   * own limit (100 MiB in the package `ws`, lib/websocket.js `maxPayload`; none in Node's own WebSocket).
   * @default 64 Mi
   */
  readonly responseBytesMax?: number | undefined
  readonly clock: Clock
}

const TIMEOUT_MS = 10_000
const OPEN = 1
// viem gives up after 5 attempts, 2 s apart (utils/rpc/socket.ts), and then keeps the dead socket for ever.
const DEAD_AFTER_MS = 15_000
// After each failed connection viem keeps trying on its own for a while, so at most one connection is made
// per second.
const CONNECT_AGAIN_MS = 1_000

/**
 * A port over viem's WebSocket: one frame per batch, any number of open batches. viem's client connects and
 * reconnects. No frame is written again after a reconnect; calls without an answer when the socket closes get
 * a `network` failure.
 */
export function createWebSocketPort({ getRpcClient, name, clock, ...options }: WebSocketPortOptions): Port {
  const stats = { requests: 0, calls: 0 }
  const timeouts = createRequestTimeouts(clock)
  const framesOf = new WeakMap<SocketLike, Frames>()
  let origin: string | undefined
  let closedSinceMs: number | undefined
  let connectFailedAtMs: number | undefined

  async function connect(): Promise<SocketClientLike> {
    if (connectFailedAtMs !== undefined && clock.now() - connectFailedAtMs < CONNECT_AGAIN_MS) {
      throw new Error('the connection failed a moment ago')
    }
    try {
      const client = await getRpcClient()
      connectFailedAtMs = undefined
      origin = redactUrl(client.url)
      return client
    } catch {
      // viem rejects with the socket's event, which contains no reason.
      connectFailedAtMs = clock.now()
      throw new Error('the socket could not be opened')
    }
  }

  async function openSocket(): Promise<SocketLike> {
    const client = await connect()
    if (client.socket.readyState === OPEN) {
      closedSinceMs = undefined
      return client.socket
    }
    closedSinceMs ??= clock.now()
    if (clock.now() - closedSinceMs < DEAD_AFTER_MS) throw new Error('the socket is closed')
    // Closing removes the dead client from viem's cache, so that the next request connects anew.
    client.close()
    closedSinceMs = undefined
    return (await connect()).socket
  }

  function listen(socket: SocketLike): Frames {
    let frames = framesOf.get(socket)
    if (frames === undefined) {
      frames = createFrames(options.responseBytesMax ?? RESPONSE_BYTES_MAX)
      framesOf.set(socket, frames)
      socket.addEventListener('message', ({ data }) => frames?.receive(data))
      socket.addEventListener('close', () =>
        frames?.fail({ kind: 'network', message: 'the socket was closed' }),
      )
    }
    return frames
  }

  async function batch(
    calls: readonly RpcCall[],
    batchOptions: BatchOptions = {},
  ): Promise<readonly RpcReply[]> {
    if (calls.length === 0) return []
    const all = (failure: RpcFailure) => new Array<RpcReply>(calls.length).fill({ ok: false, failure })
    const timeoutMs = batchOptions.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS
    const timeout = timeouts.begin([batchOptions.signal])
    timeout.after(timeoutMs)
    let written: { frames: Frames; firstId: number } | undefined
    try {
      // If the request is given up while connecting, `ended` rejects, and nothing is written when the socket
      // opens later.
      const socket = await Promise.race([openSocket(), timeout.ended])
      const frames = listen(socket)
      const firstId = takeCallIds(calls.length)
      const text = encodeCalls(calls, firstId)
      const replies = frames.expect(firstId, calls.length)
      written = { frames, firstId }
      socket.send(text)
      stats.requests++
      stats.calls += calls.length
      return await Promise.race([replies, timeout.ended])
    } catch (error) {
      return all(failureOf(error, timeout.reason(), written !== undefined, timeoutMs))
    } finally {
      timeout.done()
      written?.frames.forget(written.firstId)
    }
  }

  return {
    get name() {
      return origin ?? redactText(name)
    },
    kind: 'webSocket',
    batch,
    stats,
    close: timeouts.close,
  }
}

function failureOf(
  error: unknown,
  reason: 'aborted' | 'timeout' | undefined,
  written: boolean,
  timeoutMs: number,
): RpcFailure {
  if (reason === 'timeout') return { kind: 'timeout', message: `no answer within ${timeoutMs} ms` }
  if (reason === 'aborted') {
    return written
      ? { kind: 'network', message: 'aborted while waiting for the answer' }
      : { kind: 'aborted', message: 'aborted before it was written' }
  }
  return {
    kind: 'network',
    message: error instanceof Error ? redactForeign(error.message) : 'the socket failed',
  }
}
