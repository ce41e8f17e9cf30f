import { redactForeign, redactText } from '../../errors/redact.js'
import { redactUrl } from '../../errors/redactUrl.js'
import type { Clock } from '../../platform/clock.js'
import { decodeAnswers, encodeCalls, errorObject, takeCallIds } from '../envelope.js'
import type { BatchOptions, NotificationListener, Port, RpcCall, RpcFailure, RpcReply } from '../port.js'
import { OversizedAnswer, RESPONSE_BYTES_MAX } from './boundedText.js'
import { createRequestTimeouts } from './requestTimeout.js'

/** The part of viem's socket that the port uses. */
export type SocketLike = {
  readonly readyState: number
  send(data: string): void
  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void
}

/** The part of viem's socket client that the port uses. The client connects, pings, and reconnects. */
export type SocketClientLike = { readonly socket: SocketLike; readonly url: string; close(): void }

type WebSocketPortOptions = {
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
  const listeners = new Set<NotificationListener>()
  let url: string | undefined
  let closedSinceMs: number | undefined
  let connectFailedAtMs: number | undefined

  async function connect(): Promise<SocketClientLike> {
    if (connectFailedAtMs !== undefined && clock.now() - connectFailedAtMs < CONNECT_AGAIN_MS) {
      throw new Error('the connection failed a moment ago')
    }
    try {
      const client = await getRpcClient()
      connectFailedAtMs = undefined
      url = client.url
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
      frames = createFrames(options.responseBytesMax ?? RESPONSE_BYTES_MAX, (subscription, result) => {
        for (const listener of [...listeners]) listener.notified(subscription, result)
      })
      framesOf.set(socket, frames)
      socket.addEventListener('message', ({ data }) => frames?.receive(data))
      socket.addEventListener('close', () => {
        frames?.fail({ kind: 'network', message: 'the socket was closed' })
        for (const listener of [...listeners]) listener.closed()
      })
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
      return url === undefined ? redactText(name) : redactUrl(url)
    },
    kind: 'webSocket',
    batch,
    stats,
    notifications: {
      listen(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      get url() {
        return url
      },
    },
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

/** The open batches on one socket, by the id of their first call. */
type Frames = {
  /** Resolves when frames have answered the batch, or when `fail` ends it. Never rejects. */
  expect(firstId: number, count: number): Promise<readonly RpcReply[]>
  /** Handles a raw frame: an answer, or a notification. Answers to other users of the socket are ignored. */
  receive(data: unknown): void
  /** Ends all open batches. */
  fail(failure: RpcFailure): void
  forget(firstId: number): void
}

type Open = {
  readonly count: number
  readonly replies: (RpcReply | undefined)[]
  readonly resolve: (replies: readonly RpcReply[]) => void
}

/**
 * Matches frames to batches. A batch may be answered by one array, by several arrays, or by one object per
 * call. A frame of more than `charsMax` is not read; its batch is unknown, so it ends all open batches.
 * `notified` is called with the notifications of all subscriptions on the socket.
 */
export function createFrames(
  charsMax: number,
  notified: NotificationListener['notified'] = () => {},
): Frames {
  const open = new Map<number, Open>()

  function fail(failure: RpcFailure): void {
    const reply: RpcReply = { ok: false, failure }
    for (const batch of open.values()) batch.resolve(batch.replies.map((own) => own ?? reply))
    open.clear()
  }

  function receive(data: unknown): void {
    if (typeof data === 'string' && data.length > charsMax) {
      const { message } = new OversizedAnswer(charsMax)
      return fail({ kind: 'malformed', message, cut: true })
    }
    const frame = typeof data === 'string' ? parse(data) : undefined
    const notification = notificationOf(frame)
    if (notification !== undefined) return notified(...notification)
    // One frame may answer calls of several batches, although no known server does so.
    for (const [firstId, batch] of open) {
      if (!concerns(frame, firstId, batch.count, open.size)) continue
      const replies = decodeAnswers(frame, firstId, batch.count)
      const whole = Array.isArray(frame) || !hasOwnId(frame, firstId, batch.count)
      settle(firstId, batch, replies, whole)
    }
  }

  function settle(firstId: number, batch: Open, replies: readonly RpcReply[], whole: boolean): void {
    let missing = false
    for (let index = 0; index < batch.count; index++) {
      const reply = replies[index]
      // If an array answers the batch, a missing part will not come. Beside single objects it may still come.
      if (batch.replies[index] === undefined && (whole || isOwn(reply))) batch.replies[index] = reply
      missing ||= batch.replies[index] === undefined
    }
    if (missing) return
    open.delete(firstId)
    batch.resolve(batch.replies as RpcReply[])
  }

  return {
    expect: (firstId, count) =>
      new Promise((resolve) => {
        open.set(firstId, { count, replies: new Array(count).fill(undefined), resolve })
      }),
    receive,
    fail,
    forget: (firstId) => void open.delete(firstId),
  }
}

/** The subscription and the result of `{ method: 'eth_subscription', params: { subscription, result } }`. */
function notificationOf(frame: unknown): [string, unknown] | undefined {
  const { method, params } = (frame ?? {}) as { readonly method?: unknown; readonly params?: unknown }
  if (method !== 'eth_subscription' || typeof params !== 'object' || params === null) return undefined
  const { subscription, result } = params as { readonly subscription?: unknown; readonly result?: unknown }
  return typeof subscription === 'string' ? [subscription, result] : undefined
}

function isOwn(reply: RpcReply | undefined): boolean {
  return reply !== undefined && (reply.ok || reply.failure.kind !== 'malformed')
}

/** True if any part of the frame belongs to this batch. */
function concerns(frame: unknown, firstId: number, count: number, openBatches: number): boolean {
  if (Array.isArray(frame)) return frame.some((item) => hasOwnId(item, firstId, count))
  if (hasOwnId(frame, firstId, count)) return true
  // An error for a whole request has no id. It can only be assigned if a single batch is open.
  return openBatches === 1 && errorObject(frame) !== undefined && idOf(frame) === null
}

function hasOwnId(item: unknown, firstId: number, count: number): boolean {
  const id = Number(idOf(item) ?? Number.NaN)
  return id >= firstId && id < firstId + count
}

function idOf(item: unknown): unknown {
  return typeof item === 'object' && item !== null ? ((item as { id?: unknown }).id ?? null) : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
