import { toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { hashOf, rawBlock } from '../../../test/contract/stubPort.js'
import { medianOf, openChain } from './announcedChain.fixture.js'

const POLL = 'eth_getBlockByNumber'
const SUBSCRIBE = 'eth_subscribe'

describe.each([
  { how: 'by announcements', announces: true, mostMs: 10 },
  { how: 'by polls', announces: false, mostMs: 25 },
  {
    how: 'by polls of which a fifth is lost, beside silent announcements',
    announces: true,
    fails: true,
    // A lost poll doubles the interval.
    mostMs: 2 * 200,
  },
])('blocks of a fifth of a second, seen $how', ({ announces, fails = false, mostMs }) => {
  const slowestMs = fails ? 1_000 : 225

  test('are known soon after they appear, by at most six polls a second', async () => {
    const chain = openChain({ announces, fails })
    await chain.clock.advance(60_000)
    const delays = chain.delaysMs(50_000)
    expect(medianOf(delays)).toBeLessThanOrEqual(mostMs)
    expect(Math.max(...delays)).toBeLessThanOrEqual(slowestMs)
    expect(chain.called(POLL, 50_000)).toBeLessThanOrEqual(6 * 50)
    chain.close()
  })

  test('are known again, each of them, after the endpoint was silent for ten seconds', async () => {
    const chain = openChain({ announces, fails })
    await chain.clock.advance(10_000)
    chain.switches.answers = false
    chain.switches.announces = false
    await chain.clock.advance(10_000)
    expect(chain.called(POLL, 5_000)).toBeLessThanOrEqual(10)
    chain.switches.answers = true
    chain.switches.announces = announces
    await chain.clock.advance(20_000)
    expect(chain.delaysMs(35_000).every(Number.isFinite)).toBe(true)
    expect(medianOf(chain.delaysMs(10_000))).toBeLessThanOrEqual(mostMs)
    chain.close()
  })

  test('cost no call while no lane waits for anything', async () => {
    const chain = openChain({ announces, fails })
    await chain.clock.advance(5_000)
    chain.switches.pace = 'idle'
    chain.tracker.plan()
    await chain.clock.advance(1_000)
    await chain.clock.advance(50_000)
    expect(chain.called(POLL, 50_000) + chain.called(SUBSCRIBE, 50_000)).toBe(0)
    chain.close()
  })

  test('that leave the chain are reported, and those that replace them', async () => {
    const chain = openChain({ announces, fails })
    await chain.clock.advance(10_100)
    // A block that no poll has shown cannot leave.
    while (chain.tracker.head?.hash !== chain.blocks.at(-1)?.hash) await chain.clock.advance(10)
    chain.reorganise(3)
    await chain.clock.advance(2_000)
    expect(chain.left).toHaveLength(3)
    expect(chain.delaysMs(6_000).every(Number.isFinite)).toBe(true)
    chain.close()
  })
})

describe('announcements', () => {
  test('take the place of polls: one poll for each block', async () => {
    const chain = openChain({ announces: true })
    await chain.clock.advance(10_000)
    await chain.clock.advance(20_000)
    expect(chain.called(POLL, 20_000)).toBe(100)
    expect(chain.called(SUBSCRIBE, 30_000)).toBe(1)
    chain.close()
  })

  test('a head that does not stand on a known block is joined by one request for all missed ones', async () => {
    const chain = openChain({ announces: true })
    await chain.clock.advance(5_000)
    for (let missed = 0; missed < 30; missed++) chain.make()
    await chain.clock.advance(400)
    expect(chain.delaysMs(4_000).every(Number.isFinite)).toBe(true)
    // The 30 blocks, and two heads.
    expect(chain.called(POLL, 400)).toBeLessThanOrEqual(34)
    chain.close()
  })

  test.each<[string, (number: number, send: (number: number) => void) => void]>([
    [
      'that repeat',
      (number, send) => {
        for (let times = 0; times < 5; times++) send(number)
      },
    ],
    ['that skip heads', (number, send) => void (number % 3 === 0 && send(number))],
    [
      'in the wrong order',
      (number, send) => {
        if (number % 2 === 0) return
        send(number)
        send(number - 1)
      },
    ],
    [
      'of heads that do not exist',
      (number, send) => {
        send(number + 1_000)
        send(number)
      },
    ],
  ])('%s lose no block and cost no more than polling', async (_, announce) => {
    const chain = openChain({ announces: true })
    chain.wire.announce = announce
    await chain.clock.advance(30_000)
    expect(chain.delaysMs(25_000).every(Number.isFinite)).toBe(true)
    expect(chain.called(POLL, 20_000)).toBeLessThanOrEqual(6 * 20 + 20)
    chain.close()
  })

  test('are missed for two periods: polling begins within the next one, and a new subscription follows', async () => {
    const chain = openChain({ announces: true })
    await chain.clock.advance(10_000)
    chain.switches.announces = false
    await chain.clock.advance(3_000)
    const delays = chain.delaysMs(3_000)
    expect(Math.max(...delays)).toBeLessThanOrEqual(3 * 200)
    expect(medianOf(delays)).toBeLessThanOrEqual(25)
    await chain.clock.advance(120_000)
    // 1 s, 2 s, 4 s, … and then one each minute.
    expect(chain.called(SUBSCRIBE, 123_000)).toBeGreaterThanOrEqual(4)
    expect(chain.called(SUBSCRIBE, 123_000)).toBeLessThanOrEqual(9)
    chain.switches.announces = true
    await chain.clock.advance(65_000)
    const polls = chain.called(POLL, 2_000)
    expect(polls).toBe(10)
    expect(medianOf(chain.delaysMs(2_000))).toBeLessThanOrEqual(10)
    chain.close()
  })

  test('end with the connection, in the middle of a burst: polls go on, and a new subscription follows', async () => {
    const chain = openChain({ announces: true })
    await chain.clock.advance(10_000)
    for (let made = 0; made < 10; made++) chain.make()
    chain.drop()
    expect(chain.subscribed()).toBe(0)
    await chain.clock.advance(5_000)
    expect(chain.delaysMs(4_900).every(Number.isFinite)).toBe(true)
    expect(chain.subscribed()).toBe(1)
    expect(chain.called(POLL, 1_000)).toBe(5)
    chain.close()
  })

  test('are asked for once a minute from an endpoint that refuses to announce', async () => {
    const chain = openChain({ announces: true })
    chain.switches.refuses = true
    await chain.clock.advance(120_000)
    expect(chain.called(SUBSCRIBE, 120_000)).toBeLessThanOrEqual(2)
    expect(medianOf(chain.delaysMs(60_000))).toBeLessThanOrEqual(25)
    chain.close()
  })

  test('of an unused subscription end it after a minute, and `stop` ends it at once', async () => {
    const chain = openChain({ announces: true })
    await chain.clock.advance(5_000)
    chain.switches.pace = 'idle'
    chain.tracker.plan()
    await chain.clock.advance(59_000)
    expect(chain.subscribed()).toBe(1)
    await chain.clock.advance(3_000)
    expect(chain.called('eth_unsubscribe', 3_000)).toBe(1)
    expect(chain.subscribed()).toBe(0)
    chain.switches.pace = 'head'
    chain.tracker.plan()
    await chain.clock.advance(1_000)
    expect(chain.subscribed()).toBe(1)
    chain.tracker.stop()
    await chain.clock.advance(10)
    await chain.tracker.unsubscribed
    expect(chain.called('eth_unsubscribe', 10)).toBe(1)
    chain.close()
  })

  test('prove nothing: a head that only an announcement shows is not on the chain', async () => {
    const chain = openChain({ announces: true })
    await chain.clock.advance(5_100)
    chain.standStill()
    const { head } = chain.tracker
    const parentHash = head?.hash
    for (const [number, digit] of [
      [25, 'e'],
      [26, 'f'],
    ] as const)
      chain.announce(rawBlock({ number: toHex(number), hash: hashOf(digit), parentHash }))
    await chain.clock.advance(2_000)
    expect(chain.tracker.head).toEqual(head)
    expect(chain.left).toEqual([])
    chain.close()
  })
})
