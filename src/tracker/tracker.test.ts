import { expect, test, vi } from 'vitest'
import { createStubPort, rawBlock } from '../../test/contract/stubPort.js'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { createTracker } from './tracker.js'

test('its first head is believed only from an endpoint that shows that it is on our chain', async () => {
  let strays = true
  const port = createStubPort((calls) =>
    calls.map(({ method }) => ({
      result: method === 'eth_chainId' ? strays : rawBlock({ number: strays ? '0x7a120' : '0x10' }),
    })),
  )
  const clock = createVirtualClock()
  const onStranger = vi.fn()
  const tracker = createTracker({
    port: () => port,
    identity: {
      calls: [{ method: 'eth_chainId', params: [] }],
      holds: ([reply]) => reply?.ok === true && reply.result === false,
    },
    onStranger,
    clock,
    cadenceMs: () => 200,
    pending: () => ({ block: false, count: false, paced: false }),
    timeoutMs: 1_000,
    horizon: 64,
  })
  const ticked = tracker.nextTick()
  await clock.advance(1_000)
  expect(tracker.head).toBeUndefined()
  expect(onStranger).toHaveBeenCalled()
  strays = false
  await clock.advance(10_000)
  await ticked
  expect(tracker.head?.number).toBe(16)
  // From then on it is not asked any more.
  const { length } = port.batches
  void tracker.nextTick()
  await clock.advance(1_000)
  expect(
    port.batches
      .slice(length)
      .flat()
      .map(({ method }) => method),
  ).toEqual(['eth_getBlockByNumber'])
  tracker.stop()
})
