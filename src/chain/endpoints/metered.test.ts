import { describe, expect, test } from 'vitest'
import { openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'

const DENIED: RpcReply = {
  ok: false,
  failure: { kind: 'rpc', code: -32005, message: 'rate limit exceeded' },
}

/** Refuses requests with more calls than the second has left. Returns how many it refused. */
function meter(lane: SimLane, perSecond: number): { denied: number } {
  const counted = { denied: 0 }
  let second = 0
  let left = 0
  lane.refusal = (calls) => {
    const now = Math.floor(lane.clock.now() / 1_000)
    if (now !== second) {
      second = now
      left = perSecond
    }
    if (calls.length <= left) {
      left -= calls.length
      return undefined
    }
    counted.denied++
    return calls.map(() => DENIED)
  }
  return counted
}

const COUNT = 100
const markers = Array.from({ length: COUNT }, (_, index) => index + 1)

async function burst(lane: SimLane): Promise<number> {
  const startMs = lane.clock.now()
  const sent = await lane.settle(Promise.all(markers.map((marker) => lane.sender.send(transfer(marker)))))
  await lane.settle(Promise.all(sent.map((tx) => tx.wait('sealed'))))
  return lane.clock.now() - startMs
}

describe('an endpoint that counts calls', () => {
  test.each([25, 50, 100])(
    'and takes %i a second gets a burst in about the time that it takes',
    async (perSecond) => {
      await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 1_000 } })
      const counted = meter(lane, perSecond)
      const tookMs = await burst(lane)
      expect(lane.executed()).toEqual(markers)
      // Polls take their part, too.
      expect(tookMs).toBeLessThan((2.5 * 1_000 * COUNT) / perSecond + 5_000)
      expect(counted.denied).toBeLessThanOrEqual(6)
      const [{ budget } = {}] = (await lane.snapshot()).endpoints
      // During the search the rate is above the limit at times, but by no more than one step.
      expect(budget?.callsPerSecond).toBeLessThanOrEqual(2 * perSecond)
    },
  )

  test('never denies a call if `limits.callsPerSecond` states its limit', async () => {
    await using lane = await openLane({
      chain: { rules: 'geth', blockTimeMs: 1_000 },
      limits: { callsPerSecond: 25 },
    })
    const perSecond = new Map<number, number>()
    const from = lane.requests.length
    lane.refusal = (calls) => {
      const second = Math.floor(lane.clock.now() / 1_000)
      perSecond.set(second, (perSecond.get(second) ?? 0) + calls.length)
      return undefined
    }
    await burst(lane)
    expect(lane.requests.length).toBeGreaterThan(from)
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(25)
    expect(lane.sent).toHaveLength(COUNT)
  })
})

test('limits.requestsPerSecond bounds sends and reads together', async () => {
  await using lane = await openLane({ limits: { requestsPerSecond: 3 } })
  const atMs: number[] = []
  lane.refusal = () => void atMs.push(lane.clock.now())
  await burst(lane)
  for (const [index, ms] of atMs.entries())
    expect((atMs[index + 3] ?? ms + 1_000) - ms).toBeGreaterThanOrEqual(1_000)
})
