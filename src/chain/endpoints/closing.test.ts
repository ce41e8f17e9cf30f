import { expect, test } from 'vitest'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { Clock } from '../../platform/clock.js'
import type { NotificationListener, Port, RpcReply } from '../../rpc/port.js'

const ok = (result: unknown): RpcReply => ({ ok: true, result })

const LATE_MS = 900

/** A lane whose endpoint announces heads, and takes its time to end a subscription. */
async function openAnnounced(options: Parameters<typeof openLane>[0] = {}) {
  const listeners = new Set<NotificationListener>()
  const ended: unknown[] = []
  const posted: string[] = []
  let isClosed = false
  const around = (port: Port, clock: Clock): Port => ({
    ...port,
    notifications: {
      url: undefined,
      listen(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    },
    async batch(calls, batchOptions) {
      const [{ method, params } = { method: '', params: [] }] = calls
      if (!isClosed) posted.push(method)
      if (method === 'eth_subscribe') return [ok('0x1')]
      if (method !== 'eth_unsubscribe') return port.batch(calls, batchOptions)
      await new Promise<void>((resolve) => clock.setTimer(resolve, LATE_MS))
      ended.push(params[0])
      return [ok(true)]
    },
    close() {
      isClosed = true
      port.close()
    },
  })
  const lane = await openLane({ ...options, around })
  const sent = lane.sender.send(transfer(1))
  await lane.until(() => listeners.size > 0)
  await lane.settle(sent)
  return { lane, listeners, ended, posted }
}

test('close resolves once the subscription to heads is ended', async () => {
  const { lane, listeners, ended } = await openAnnounced()
  await lane.settle(lane.sender.close())
  expect(ended).toEqual(['0x1'])
  expect(listeners.size).toBe(0)
})

test('after close, no request that waited for its turn in the budget is sent', async () => {
  const { lane, listeners, posted } = await openAnnounced({ limits: { callsPerSecond: 3 } })
  void lane.sender.resync().catch(() => {})
  await lane.settle(lane.sender.close())
  const before = [...posted]
  await lane.clock.advance(10_000)
  expect(posted).toEqual(before)
  expect(listeners.size).toBe(0)
})
