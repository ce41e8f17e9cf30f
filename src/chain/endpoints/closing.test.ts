import { expect, test } from 'vitest'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { NotificationListener, Port, RpcReply } from '../../rpc/port.js'

const ok = (result: unknown): RpcReply => ({ ok: true, result })

/** A lane whose endpoint announces heads, and the listeners to them. */
async function openAnnounced(options: Parameters<typeof openLane>[0] = {}) {
  const listeners = new Set<NotificationListener>()
  const around = (port: Port): Port => ({
    ...port,
    notifications: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  })
  const lane = await openLane({ ...options, around })
  const ended: string[] = []
  lane.script = ({ method, params: [id] }) => {
    if (method === 'eth_unsubscribe') ended.push(String(id))
    if (method === 'eth_subscribe') return ok('0x1')
    return method === 'eth_unsubscribe' ? ok(true) : undefined
  }
  await lane.settle(lane.sender.send(transfer(1)))
  await lane.until(() => listeners.size > 0)
  await lane.clock.advance(1_000)
  return { lane, listeners, ended }
}

test('close resolves once the subscription to heads is ended', async () => {
  const { lane, listeners, ended } = await openAnnounced()
  await lane.settle(lane.sender.close())
  expect(ended).toEqual(['0x1'])
  expect(listeners.size).toBe(0)
})

test('after close, no request waits for its turn in the budget of an endpoint that announces heads', async () => {
  const { lane, listeners } = await openAnnounced({ limits: { callsPerSecond: 1 } })
  void lane.sender.send(transfer(2)).catch(() => {})
  void lane.sender.resync().catch(() => {})
  await lane.settle(lane.sender.close())
  lane.chain.stop()
  expect(listeners.size).toBe(0)
  expect(lane.clock.pendingTimers).toBe(0)
})
