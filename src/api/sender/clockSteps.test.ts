import { describe, expect, test } from 'vitest'
import { openProcesses } from './processes.fixture.js'
import { nameOf, onSend, openLane, refuses, swallows, transfer } from './simLane.fixture.js'

const HOUR_MS = 3_600_000
const LEASE_MS = 10_000
const INTRINSIC = refuses('invalid transaction v, r, s values')

describe.each([
  ['back', -HOUR_MS],
  ['forward', HOUR_MS],
])('the wall clock steps %s by an hour', (_, stepMs) => {
  test('P8, row 19: a stalled transaction is resent and bumped as without the step', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (tx.hash === lane.sent[0]?.hash ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    lane.clock.stepWall(stepMs)
    await lane.settle(tx.wait('sealed'), 60_000)
    expect(lane.sent.length).toBeGreaterThan(1)
  })

  test('P3, row 2: a gap is filled after gapFillAfterMs and not before', async () => {
    await using lane = await openLane({ limits: { gapFillAfterMs: 3_000 } })
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? INTRINSIC : undefined))
    const second = lane.sender.send(transfer(2))
    await lane.rejection(lane.sender.send(transfer(1), { priority: 1 }))
    lane.clock.stepWall(stepMs)
    await lane.clock.advance(2_500)
    expect(lane.sent.map(nameOf)).not.toContain('noop')
    await lane.settle(
      second.then((tx) => tx.wait()),
      10_000,
    )
    expect(lane.executed()).toEqual(['noop', 2])
  })

  test('P8: an endpoint that refused for its rate limit is used again after its pause', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => refuses('rate limit exceeded'))
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    await lane.until(() => lane.sent.length > 0)
    await lane.clock.advance(50)
    lane.clock.stepWall(stepMs)
    lane.script = undefined
    await lane.settle(tx.wait('sealed'), 30_000)
  })

  test('P7: the next process leads at most two leases after the leader is gone', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    const tx = await lane.settle(second.sender.send(transfer(1), { until: 'queued' }))
    first.freeze()
    lane.clock.stepWall(stepMs)
    await lane.settle(tx.wait('sealed'), 2 * LEASE_MS + 10_000)
    expect(lane.executed()).toEqual([1])
  })

  test('P7: with both processes at work one leads in the end, and each transaction executes once', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const both = await world.pair()
    const sends = Array.from({ length: 20 }, (_, index) => async () => {
      if (index === 10) lane.clock.stepWall(stepMs)
      const tx = await (both[index % 2] as (typeof both)[0]).sender.send(transfer(index + 1), {
        until: 'queued',
      })
      return tx.wait('sealed')
    })
    const landed: Promise<unknown>[] = []
    for (const send of sends) {
      landed.push(send())
      await lane.clock.advance(300)
    }
    await lane.settle(Promise.all(landed))
    const holders = await Promise.all(both.map(({ sender }) => lane.settle(sender.snapshot())))
    expect(holders.map(({ holder }) => holder).filter(Boolean)).toHaveLength(1)
  })
})

test.each([
  ['was read a moment ago: the lane sends at once', 0, false],
  ['was read before the machine slept: the lane looks first', HOUR_MS, true],
])('the chain %s', async (_, stepMs, looks) => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(1)).then((tx) => tx.wait('sealed')))
  const before = lane.requests.length
  lane.clock.stepWall(stepMs)
  await lane.settle(lane.sender.send(transfer(2)))
  const methods = lane.requests.slice(before).flatMap((calls) => calls.map(({ method }) => method))
  const untilSent = methods.slice(0, methods.indexOf('eth_sendRawTransaction'))
  expect(untilSent.includes('eth_getBlockByNumber')).toBe(looks)
})
