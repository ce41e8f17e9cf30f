import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createFrames, createWebSocketPort, type SocketLike } from './webSocket.js'

const OPEN = 1
const CLOSED = 3
const calls = [{ method: 'eth_chainId', params: [] }]

/** A socket that answers each frame at once while it is open. */
function createSocket(readyState = OPEN) {
  const listeners: ((event: { data?: unknown }) => void)[] = []
  const written: string[] = []
  const socket: SocketLike & { readyState: number } = {
    readyState,
    send(text) {
      written.push(text)
      const { id } = JSON.parse(text) as { id: number }
      for (const listener of listeners) listener({ data: JSON.stringify({ id, result: '0x1' }) })
    },
    addEventListener(type, listener) {
      if (type === 'message') listeners.push(listener)
    },
  }
  return { socket, written }
}

/** A port over clients that are used one after the other; the last one is repeated. */
function setUp(clients: readonly (SocketLike | 'fails' | 'never')[]) {
  const clock = createVirtualClock()
  const seen = { asked: 0, closed: 0 }
  const getRpcClient = async () => {
    const socket = clients[Math.min(seen.asked++, clients.length - 1)]!
    if (socket === 'fails') throw new Error('refused by wss://node.example/key')
    if (socket === 'never') return new Promise<never>(() => {})
    return { socket, url: 'wss://node.example/key', close: () => void seen.closed++ }
  }
  const port = createWebSocketPort({ getRpcClient, name: 'WebSocket JSON-RPC', clock, timeoutMs: 100 })
  return { port, clock, seen }
}

describe('the port over a WebSocket', () => {
  test('is named by the origin of its URL once the URL is known', async () => {
    const { port } = setUp([createSocket().socket])
    expect(port.name).toBe('WebSocket JSON-RPC')
    await port.batch(calls)
    expect(port.name).toBe('wss://node.example')
  })

  test('writes nothing if the timeout passes before the socket is open', async () => {
    const { port, clock } = setUp(['never'])
    const replies = port.batch(calls)
    await clock.advance(100)
    expect(await replies).toMatchObject([{ failure: { kind: 'timeout' } }])
    expect(port.stats).toEqual({ requests: 0, calls: 0 })
  })

  test('connects at most once a second while connections fail', async () => {
    const { port, clock, seen } = setUp(['fails'])
    for (let poll = 0; poll < 10; poll++) {
      expect(await port.batch(calls)).toMatchObject([{ failure: { kind: 'network' } }])
      await clock.advance(200)
    }
    expect(seen.asked).toBe(2)
  })

  test('leaves reconnecting to viem, and connects again after viem has given up', async () => {
    const fresh = createSocket()
    const dead = createSocket(CLOSED).socket
    const { port, clock, seen } = setUp([dead, dead, fresh.socket])
    expect(await port.batch(calls)).toMatchObject([{ failure: { kind: 'network' } }])
    expect(seen.closed).toBe(0)
    await clock.advance(15_000)
    expect(await port.batch(calls)).toEqual([{ ok: true, result: '0x1' }])
    expect(seen.closed).toBe(1)
    expect(fresh.written).toHaveLength(1)
  })

  test('uses the socket that viem opened again', async () => {
    const { socket, written } = createSocket(CLOSED)
    const { port } = setUp([socket])
    await port.batch(calls)
    ;(socket as { readyState: number }).readyState = OPEN
    expect(await port.batch(calls)).toEqual([{ ok: true, result: '0x1' }])
    expect(written).toHaveLength(1)
  })

  test('writes nothing after it is closed', async () => {
    const { socket, written } = createSocket()
    const { port } = setUp([socket])
    port.close()
    expect(await port.batch(calls)).toMatchObject([{ failure: { kind: 'aborted' } }])
    expect(written).toEqual([])
  })
})

const frame = (...items: object[]) => JSON.stringify(items.length === 1 ? items[0] : items)
const now = <T>(promise: Promise<T>) => Promise.race([promise, Promise.resolve().then(() => 'open' as const)])

describe('frames on a socket', () => {
  test('answer the batch with their ids, in whatever order the batches are answered', async () => {
    const frames = createFrames(1_000)
    const [first, second] = [frames.expect(10, 2), frames.expect(12, 1)]
    frames.receive(frame({ id: 12, result: 'c' }))
    frames.receive(frame({ id: 11, result: 'b' }, { id: 10, result: 'a' }))
    expect(await first).toEqual([
      { ok: true, result: 'a' },
      { ok: true, result: 'b' },
    ])
    expect(await second).toEqual([{ ok: true, result: 'c' }])
  })

  test('may answer each call of a batch separately', async () => {
    const frames = createFrames(1_000)
    const replies = frames.expect(10, 2)
    frames.receive(frame({ id: 11, result: 'b' }))
    expect(await now(replies)).toBe('open')
    frames.receive(frame({ id: 10, error: { code: 1, message: 'no' } }))
    expect(await replies).toEqual([
      { ok: false, failure: { kind: 'rpc', code: 1, message: 'no' } },
      { ok: true, result: 'b' },
    ])
  })

  test('leave the missing calls of a partial answer without an answer', async () => {
    const frames = createFrames(1_000)
    const replies = frames.expect(10, 2)
    frames.receive(JSON.stringify([{ id: 11, result: 'b' }]))
    expect(await replies).toMatchObject([{ failure: { kind: 'malformed' } }, { ok: true, result: 'b' }])
  })

  test('of other users of the socket are ignored', async () => {
    const frames = createFrames(1_000)
    const replies = frames.expect(10, 1)
    frames.receive('not JSON')
    frames.receive(new ArrayBuffer(2))
    frames.receive(frame({ method: 'eth_subscription', params: { subscription: '0x1', result: {} } }))
    frames.receive(frame({ id: 3, result: 'viem’s own' }))
    frames.receive(frame({ id: null, result: 'the answer to a ping' }))
    expect(await now(replies)).toBe('open')
  })

  test('with one error and no id refuse the only open batch, and none of several', async () => {
    const frames = createFrames(1_000)
    const refusal = frame({ id: null, error: { code: -32600, message: 'batch too large' } })
    const [first, second] = [frames.expect(10, 2), frames.expect(12, 2)]
    frames.receive(refusal)
    expect(await now(first)).toBe('open')
    frames.forget(12)
    frames.receive(refusal)
    expect(await first).toMatchObject([
      { failure: { kind: 'malformed', ofBatch: { code: -32600 } } },
      { ok: false },
    ])
    expect(await now(second)).toBe('open')
  })

  test('above the size limit are not read, and leave every open call without an answer', async () => {
    const frames = createFrames(1_000)
    const [first, second] = [frames.expect(10, 1), frames.expect(12, 2)]
    frames.receive(frame({ id: 12, result: 'c' }))
    frames.receive(frame({ id: 10, result: 'x'.repeat(1_000) }))
    const cut = { ok: false, failure: { kind: 'malformed', cut: true } }
    expect(await first).toMatchObject([cut])
    expect(await second).toMatchObject([{ ok: true, result: 'c' }, cut])
  })

  test('keep the answers received so far if the socket fails before the others', async () => {
    const frames = createFrames(1_000)
    const replies = frames.expect(10, 2)
    frames.receive(frame({ id: 11, result: 'b' }))
    frames.fail({ kind: 'network', message: 'closed' })
    expect(await replies).toEqual([
      { ok: false, failure: { kind: 'network', message: 'closed' } },
      { ok: true, result: 'b' },
    ])
  })
})
