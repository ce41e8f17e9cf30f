import { describe, expect, test } from 'vitest'
import {
  nameOf,
  onSend,
  openLane,
  refuses,
  type SimLane,
  swallows,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { EndpointProfile } from '../../rpc/profile.js'

const numbers = (count: number, from = 1) => Array.from({ length: count }, (_, index) => index + from)

async function sendAll(lane: SimLane, count: number, from = 1): Promise<void> {
  const all = numbers(count, from).map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
  for (const tx of await lane.settle(Promise.all(all))) await lane.settle(tx.wait('sealed'))
}

/** Nonces of the requests that contain transactions, in the order of sending. */
const requestsOf = (lane: SimLane, from = 0) => {
  let at = 0
  return lane.requests
    .map((calls) => calls.filter(({ method }) => method === 'eth_sendRawTransaction').length)
    .filter((count) => count > 0)
    .map((count) => {
      const nonces = lane.sent.slice(at, at + count).map(({ nonce }) => nonce)
      at += count
      return nonces
    })
    .slice(from)
}

const SLOW_BLOCKS = { rules: 'geth', blockTimeMs: 12_000 } as const

/**
 * Simulates a process that works for a millisecond at a time, and records the longest work between two
 * timers.
 */
function workBetweenTimers() {
  let [workedMs, since, most, fired] = [0, 0, 0, 0]
  return {
    ms: () => workedMs,
    most: () => most,
    more({ clock }: SimLane) {
      if (clock.firedTimers !== fired) since = 0
      fired = clock.firedTimers
      workedMs++
      most = Math.max(most, ++since)
    },
  }
}

describe('D1 and D6: in order, one copy', () => {
  test.each(['geth', 'reth', 'base', 'latest'] as const)(
    'sends a burst to a node with the rules of %s in order, each transaction once',
    async (rules) => {
      await using lane = await openLane({ chain: { rules, blockTimeMs: 1_000 } })
      await sendAll(lane, 300)
      expect(lane.sent.map(({ nonce }) => nonce)).toEqual(numbers(300, 0))
      expect(lane.executed()).toEqual(numbers(300))
    },
  )

  test('grows requests with the answers, so that a burst needs few of them', async () => {
    await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 12_000 } })
    await sendAll(lane, 64)
    const before = requestsOf(lane).length
    await sendAll(lane, 1_000, 65)
    expect(requestsOf(lane, before).length).toBeLessThanOrEqual(12)
    expect(lane.sent).toHaveLength(1_064)
  })

  test('sends the next request before it emits the answers to the previous one', async () => {
    await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 12_000 } })
    await sendAll(lane, 64)
    const before = requestsOf(lane).length
    const requestsAt: number[] = []
    lane.sender.on('accepted', () => requestsAt.push(requestsOf(lane, before).length))
    await sendAll(lane, 300, 65)
    expect(requestsAt[0]).toBe(2)
  })

  test('emits the answers to a large request in parts, with timers in between', async () => {
    const worked = workBetweenTimers()
    await using lane = await openLane({ chain: SLOW_BLOCKS, workedMs: worked.ms })
    lane.sender.on('accepted', () => worked.more(lane))
    await sendAll(lane, 600)
    expect(worked.ms()).toBe(600)
    expect(worked.most()).toBeLessThanOrEqual(4)
  })

  test('signs in parts, with timers in between, without more requests', async () => {
    const worked = workBetweenTimers()
    const fails = () => {
      worked.more(lane)
      return false
    }
    await using lane = await openLane({ chain: SLOW_BLOCKS, workedMs: worked.ms, fails })
    await sendAll(lane, 64)
    const before = requestsOf(lane).length
    await sendAll(lane, 1_000, 65)
    expect(worked.ms()).toBe(1_064)
    expect(worked.most()).toBeLessThanOrEqual(4)
    expect(requestsOf(lane, before).length).toBeLessThanOrEqual(12)
    expect(lane.sent).toHaveLength(1_064)
  })

  test('emits the transactions of a block in parts, with timers in between', async () => {
    const worked = workBetweenTimers()
    await using lane = await openLane({ chain: SLOW_BLOCKS, workedMs: worked.ms })
    lane.sender.on('sealed', () => worked.more(lane))
    await sendAll(lane, 600)
    expect(worked.ms()).toBe(600)
    expect(worked.most()).toBeLessThanOrEqual(4)
  })

  test('processes a large request in parts, with timers in between', async () => {
    const worked = workBetweenTimers()
    await using lane = await openLane({ chain: SLOW_BLOCKS, workedMs: worked.ms })
    await sendAll(lane, 64)
    lane.script = onSend(swallows)
    const before = lane.sent.length
    const wave = numbers(200, 65).map((marker) => lane.sender.send(transfer(marker)))
    await lane.until(() => lane.sent.length > before)
    lane.script = undefined
    const lost = lane.sent.length - before
    lane.sender.on('rebroadcast', () => worked.more(lane))
    await lane.settle(Promise.all((await lane.settle(Promise.all(wave))).map((tx) => tx.wait('sealed'))))
    expect(lost).toBeGreaterThan(50)
    expect(worked.ms()).toBeGreaterThanOrEqual(lost)
    expect(worked.most()).toBeLessThanOrEqual(4)
  })

  test('stores the proven limits in the endpoint profile for the next lane', async () => {
    await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 1_000 } })
    await sendAll(lane, 600)
    const { window, endpoints } = await lane.snapshot()
    expect(window).toBeGreaterThan(64)
    const [{ profile } = {}] = endpoints
    expect(profile).toMatchObject({ delivery: { window: expect.any(Number) } })
    expect((profile as EndpointProfile).delivery.window).toBeGreaterThanOrEqual(64)
  })
})

describe('D2 and D3: nothing is sent above a hole, which is filled at once', () => {
  test('re-sends a lost transaction within a few round trips after a mempool count shows the loss, without waiting for a block', async () => {
    await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 60_000 } })
    // The profile learns with these that the count includes the mempool.
    await lane.settle(Promise.all(numbers(40).map((marker) => lane.sender.send(transfer(marker)))))
    let isSwallowed = false
    lane.script = onSend((tx) => {
      if (nameOf(tx) !== 45 || isSwallowed) return undefined
      isSwallowed = true
      return swallows(tx)
    })
    const startMs = lane.clock.now()
    await lane.settle(Promise.all(numbers(10, 41).map((marker) => lane.sender.send(transfer(marker)))))
    await lane.until(() => lane.sent.filter((tx) => nameOf(tx) === 45).length === 2)
    expect(lane.clock.now() - startMs).toBeLessThanOrEqual(60)
    await lane.clock.advance(5_000)
    expect(lane.sent).toHaveLength(51)
  })

  test('sends nothing new while a nonce is missing', async () => {
    await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 60_000 } })
    await lane.settle(Promise.all(numbers(40).map((marker) => lane.sender.send(transfer(marker)))))
    lane.script = onSend((tx) => (nameOf(tx) === 41 ? refuses('internal error') : undefined))
    const first = lane.sender.send(transfer(41))
    await lane.clock.advance(100)
    const rest = numbers(5, 42).map((marker) => lane.sender.send(transfer(marker)))
    await lane.clock.advance(3_000)
    expect(lane.sent.slice(40).map(nameOf)).toEqual(lane.sent.slice(40).map(() => 41))
    lane.script = undefined
    await lane.settle(Promise.all([first, ...rest]))
  })

  test('re-sends a missing transaction after two refreshes on a chain of pre-confirmations, long before a block', async () => {
    await using lane = await openLane({ chain: { rules: 'base', blockTimeMs: 2_000, flashblockMs: 200 } })
    await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait('preconfirmed'))
    lane.script = onSend((tx) => (lane.sent.length === 2 ? swallows(tx) : undefined))
    const startMs = lane.clock.now()
    const tx = await lane.settle(lane.sender.send(transfer(2)))
    await lane.settle(tx.wait('preconfirmed'))
    expect(lane.clock.now() - startMs).toBeLessThanOrEqual(1_000)
    expect([tx.attempts.length, lane.sent.length]).toEqual([1, 3])
  })
})
