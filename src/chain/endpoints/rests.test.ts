import { describe, expect, test } from 'vitest'
import { onSend, openLane, refuses, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'

const DAY_MS = 86_400_000
const retryAfter = (retryAfterMs: number): RpcReply => ({
  ok: false,
  failure: { kind: 'http', status: 429, message: 'HTTP 429: daily limit reached', retryAfterMs },
})
const rests = (lane: SimLane) => lane.events('endpoint').filter(({ change }) => change === 'rests')

describe('an endpoint that asks for a pause of a day', () => {
  test.each<[string, RpcReply]>([
    ['by Retry-After', retryAfter(DAY_MS)],
    ['in words', refuses('rate limit exceeded, retry in 1440m0s', -32005)],
    [
      'in the data of the error',
      {
        ok: false,
        failure: { kind: 'rpc', code: -32005, message: 'rate limit', data: { backoff_seconds: 86_400 } },
      },
    ],
  ])('%s, gets the bytes a minute later, and the event and the snapshot say why', async (_, reply) => {
    await using lane = await openLane()
    let limited = true
    lane.script = onSend(() => (limited ? reply : undefined))
    const sent = lane.sender.send(transfer(1))
    await lane.until(() => rests(lane).length > 0)
    limited = false
    const reason = expect.stringMatching(/left alone for 60 s\. It asked for 86400 s.* It said: /)
    expect(rests(lane)).toMatchObject([{ name: 'sim', reason }])
    expect((await lane.snapshot()).endpoints).toMatchObject([{ rests: reason }])
    const startedMs = lane.clock.now()
    await lane.settle(sent)
    expect(lane.clock.now() - startedMs).toBeGreaterThan(59_000)
    expect(lane.clock.now() - startedMs).toBeLessThan(80_000)
    expect((await lane.snapshot()).endpoints[0]).not.toHaveProperty('rests')
  })

  test('gets no requests for `restMsMax`', async () => {
    await using lane = await openLane({ limits: { restMsMax: 3_000 } })
    let limited = true
    lane.script = onSend(() => (limited ? retryAfter(DAY_MS) : undefined))
    const sent = lane.sender.send(transfer(1))
    await lane.until(() => rests(lane).length > 0)
    limited = false
    await lane.settle(sent, 6_000)
  })

  test('during an estimate, is repeated within a minute', async () => {
    await using lane = await openLane()
    let limited = true
    lane.script = ({ method }) => (method === 'eth_estimateGas' && limited ? retryAfter(DAY_MS) : undefined)
    const { gas: _, ...request } = transfer(1)
    const sent = lane.sender.send(request)
    await lane.clock.advance(1_000)
    limited = false
    await lane.settle(sent, 70_000)
  })
})

test('a run of short pauses is reported once, and the next run again', async () => {
  await using lane = await openLane()
  for (const round of [1, 2]) {
    let times = 5
    lane.script = onSend(() => (times-- > 0 ? retryAfter(100) : undefined))
    await lane.settle(lane.sender.send(transfer(round)))
    expect(rests(lane)).toHaveLength(round)
    await lane.clock.advance(6_000)
  }
})

test('bytes that wait for the end of a pause emit rebroadcast when they are sent, not with each block', async () => {
  await using lane = await openLane({ chain: { blockTimeMs: 200 } })
  let limited = true
  lane.script = onSend(() => (limited ? retryAfter(10_000) : undefined))
  const sent = lane.sender.send(transfer(1))
  await lane.clock.advance(25_000)
  limited = false
  await lane.settle(sent)
  const handed = lane.sent.length
  expect(handed).toBeGreaterThan(2)
  const { length: reported } = lane.events('rebroadcast')
  expect(reported).toBeGreaterThan(0)
  // The first of them is no repetition.
  expect(reported).toBeLessThan(handed)
})
