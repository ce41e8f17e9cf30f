import { describe, expect, test } from 'vitest'
import { medianOf, openChain } from './announcedChain.fixture.js'

const POLL = 'eth_getBlockByNumber'
const SUBSCRIBE = 'eth_subscribe'
const UNSUBSCRIBE = 'eth_unsubscribe'
const PERIOD_MS = 200

/** Two clients with connections of their own to one URL, which follow the chain for ten seconds. */
async function openTwo() {
  const chain = openChain({ announces: true })
  await chain.clock.advance(500)
  const other = chain.openClient()
  await chain.clock.advance(9_500)
  return { chain, other }
}

type Two = Awaited<ReturnType<typeof openTwo>>

describe('two clients of one URL', () => {
  test('share one subscription, which shows each of them every head at its announcement', async () => {
    const { chain, other } = await openTwo()
    await chain.clock.advance(20_000)
    expect(chain.called(SUBSCRIBE, 30_000)).toBe(1)
    expect(chain.subscribed()).toBe(1)
    for (const client of [chain, other]) expect(Math.max(...client.delaysMs(20_000))).toBeLessThanOrEqual(10)
    expect(chain.called(POLL, 20_000)).toBe(200)
    other.tracker.stop()
    chain.close()
  })

  test.each<[string, (two: Two) => void]>([
    ['closes its socket', ({ chain }) => chain.disconnect()],
    ['stops', ({ chain }) => chain.tracker.stop()],
  ])(
    'go on with one subscription, without a missed head, when the one that carries it %s',
    async (_, leave) => {
      const two = await openTwo()
      const { chain, other } = two
      // A block appears in the gap, and nothing announces it.
      leave(two)
      chain.make()
      await chain.clock.advance(10_000)
      const delays = other.delaysMs(10_001)
      expect(Math.max(...delays)).toBeLessThanOrEqual(2 * PERIOD_MS)
      expect(medianOf(delays)).toBeLessThanOrEqual(10)
      expect(chain.called(SUBSCRIBE, 9_999)).toBeLessThanOrEqual(1)
      expect(chain.called(SUBSCRIBE, 10_001)).toBe(1)
      expect(chain.subscribed()).toBe(1)
      other.tracker.stop()
      chain.close()
    },
  )

  test('poll for a head of the gap within one period, although nothing announces it', async () => {
    const { chain, other } = await openTwo()
    chain.standStill()
    await chain.clock.advance(PERIOD_MS / 2)
    chain.disconnect()
    chain.make()
    await chain.clock.advance(2 * PERIOD_MS)
    expect(Math.max(...other.delaysMs(2 * PERIOD_MS))).toBeLessThanOrEqual(PERIOD_MS + 25)
    other.tracker.stop()
    chain.close()
  })

  test('keep the subscription when the one that does not carry it stops, and end it with the last one', async () => {
    const { chain, other } = await openTwo()
    other.tracker.stop()
    await chain.clock.advance(5_000)
    expect(chain.called(SUBSCRIBE, 5_000) + chain.called(UNSUBSCRIBE, 5_000)).toBe(0)
    expect(Math.max(...chain.delaysMs(5_000))).toBeLessThanOrEqual(10)
    chain.close()
    await chain.clock.advance(10)
    expect(chain.called(UNSUBSCRIBE, 10)).toBe(1)
    expect(chain.subscribed() + chain.headSubscriptions.size).toBe(0)
  })

  test('poll while the subscription is silent, and share one again afterwards', async () => {
    const { chain, other } = await openTwo()
    chain.switches.announces = false
    await chain.clock.advance(10_000)
    for (const client of [chain, other]) {
      expect(Math.max(...client.delaysMs(10_000))).toBeLessThanOrEqual(3 * PERIOD_MS)
      expect(medianOf(client.delaysMs(5_000))).toBeLessThanOrEqual(25)
    }
    chain.switches.announces = true
    await chain.clock.advance(65_000)
    expect(chain.subscribed()).toBe(1)
    for (const client of [chain, other]) expect(medianOf(client.delaysMs(2_000))).toBeLessThanOrEqual(10)
    expect(chain.called(POLL, 2_000)).toBe(20)
    other.tracker.stop()
    chain.close()
  })

  test('take a silent subscription over to the other connection at once, which has its own two periods', async () => {
    const { chain, other } = await openTwo()
    chain.deafen()
    await chain.clock.advance(10_000)
    expect(chain.called(SUBSCRIBE, 10_000)).toBe(1)
    for (const client of [chain, other]) {
      expect(Math.max(...client.delaysMs(10_000))).toBeLessThanOrEqual(3 * PERIOD_MS)
      expect(Math.max(...client.delaysMs(5_000))).toBeLessThanOrEqual(10)
    }
    other.tracker.stop()
    chain.close()
  })

  test('ask an endpoint that refuses to announce once a minute, together', async () => {
    const chain = openChain({ announces: true })
    chain.switches.refuses = true
    const other = chain.openClient()
    await chain.clock.advance(120_000)
    expect(chain.called(SUBSCRIBE, 120_000)).toBeLessThanOrEqual(2)
    for (const client of [chain, other]) expect(medianOf(client.delaysMs(60_000))).toBeLessThanOrEqual(25)
    other.tracker.stop()
    chain.close()
  })
})

test('clients of different URLs have subscriptions of their own', async () => {
  const chain = openChain({ announces: true })
  const other = chain.openClient('ws://node/another-secret')
  await chain.clock.advance(5_000)
  expect(chain.called(SUBSCRIBE, 5_000)).toBe(2)
  expect(chain.headSubscriptions.size).toBe(2)
  other.tracker.stop()
  chain.close()
})
