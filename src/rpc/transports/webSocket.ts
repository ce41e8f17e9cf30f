import { redactForeign, redactText, redactUrl } from '../../errors/redact.js'
import type { Clock } from '../../platform/clock.js'
import { encodeCalls } from '../envelope.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../port.js'
import { RESPONSE_BYTES_MAX } from './boundedText.js'
import { takeCallIds } from './callIds.js'
import { createFrames, type Frames } from './frames.js'
import { createGiveUps } from './requestTimeout.js'

/** The part of viem's socket that is used. */
export type SocketLike = {
  readonly readyState: number
  send(data: string): void
  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void
}

/** The part of viem's socket client that is used: it connects, pings, and connects again. */
export type SocketClientLike = { readonly socket: SocketLike; readonly url: string; close(): void }

export type WebSocketPortOptions = {
  /** `client.transport.getRpcClient` of a viem `webSocket` client. */
  readonly getRpcClient: () => Promise<SocketClientLike>
  /** The transport's name: the port's until the URL is known, which is after the first connection. */
  readonly name: string
  /** Milliseconds until calls without an answer get a `timeout` failure; 0 for none. @default 10,000 */
  readonly timeoutMs?: number | undefined
  /**
   * Characters of one frame: a larger one is not parsed, and `malformed` for every call that is open. Not guaranteed:
   * what the socket itself keeps of a frame while it comes, which is the socket's own bound (100 MiB in the package
   * `ws`, lib/websocket.js `maxPayload`; none in Node's own WebSocket). @default 64 Mi
   */
  readonly responseBytesMax?: number | undefined
  readonly clock: Clock
}

const TIMEOUT_MS = 10_000
const OPEN = 1
// viem gives up after 5 attempts, 2 s apart (utils/rpc/socket.ts), and then keeps the dead socket for ever.
const DEAD_AFTER_MS = 15_000
// Each failed connection leaves viem trying on its own for a while: no more than one of those a second.
const CONNECT_AGAIN_MS = 1_000

/**
 * A port over viem's WebSocket: one frame a batch, any number of batches in the air. viem's client connects and
 * reconnects; nothing is written again after that, and calls without an answer when the socket closes get a
 * `network` failure.
 */
export function createWebSocketPort({ getRpcClient, name, clock, ...options }: WebSocketPortOptions): Port {
  const stats = { requests: 0, calls: 0 }
  const giveUps = createGiveUps(clock)
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
      // viem rejects with the socket's event, which says nothing.
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
    // Closing takes the dead client out of viem's cache; asking again connects anew.
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
    const giveUp = giveUps.begin([batchOptions.signal])
    giveUp.after(timeoutMs)
    let written: { frames: Frames; firstId: number } | undefined
    try {
      // Given up while connecting: `ended` rejects, and nothing is written when the socket opens later.
      const socket = await Promise.race([openSocket(), giveUp.ended])
      const frames = listen(socket)
      const firstId = takeCallIds(calls.length)
      const text = encodeCalls(calls, firstId)
      const replies = frames.expect(firstId, calls.length)
      written = { frames, firstId }
      socket.send(text)
      stats.requests++
      stats.calls += calls.length
      return await Promise.race([replies, giveUp.ended])
    } catch (error) {
      return all(failureOf(error, giveUp.reason(), written !== undefined, timeoutMs))
    } finally {
      giveUp.done()
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
    close: giveUps.close,
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
      ? { kind: 'network', message: 'given up while waiting for the answer' }
      : { kind: 'aborted', message: 'given up before it was written' }
  }
  return {
    kind: 'network',
    message: error instanceof Error ? redactForeign(error.message) : 'the socket failed',
  }
}
