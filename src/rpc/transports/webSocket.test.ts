import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createWebSocketPort, type SocketLike } from './webSocket.js'

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

/** A port over clients that are handed out one after the other, the last one again and again. */
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
  test('is named by the origin of its URL once that is known', async () => {
    const { port } = setUp([createSocket().socket])
    expect(port.name).toBe('WebSocket JSON-RPC')
    await port.batch(calls)
    expect(port.name).toBe('wss://node.example')
  })

  test('writes nothing when the time is up before the socket is open', async () => {
    const { port, clock } = setUp(['never'])
    const replies = port.batch(calls)
    await clock.advance(100)
    expect(await replies).toMatchObject([{ failure: { kind: 'timeout' } }])
    expect(port.stats).toEqual({ requests: 0, calls: 0 })
  })

  test('asks for a connection no more than once a second while none can be had', async () => {
    const { port, clock, seen } = setUp(['fails'])
    for (let poll = 0; poll < 10; poll++) {
      expect(await port.batch(calls)).toMatchObject([{ failure: { kind: 'network' } }])
      await clock.advance(200)
    }
    expect(seen.asked).toBe(2)
  })

  test('leaves reconnecting to viem, and starts anew when that has given up', async () => {
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

  test('takes up the socket that viem opened again', async () => {
    const { socket, written } = createSocket(CLOSED)
    const { port } = setUp([socket])
    await port.batch(calls)
    ;(socket as { readyState: number }).readyState = OPEN
    expect(await port.batch(calls)).toEqual([{ ok: true, result: '0x1' }])
    expect(written).toHaveLength(1)
  })

  test('writes nothing once it is closed', async () => {
    const { socket, written } = createSocket()
    const { port } = setUp([socket])
    port.close()
    expect(await port.batch(calls)).toMatchObject([{ failure: { kind: 'aborted' } }])
    expect(written).toEqual([])
  })
})
