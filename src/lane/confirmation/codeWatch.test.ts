import { zeroAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { ACCOUNT, openLane, refuses, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import { authorizing, DESIGNATOR, open } from '../admission/authorize.fixture.js'

const sentNonces = (lane: SimLane) => lane.sent.map(({ nonce }) => nonce)

describe('an account whose code changes', () => {
  test('narrows the window while the account is delegated, and widens it again after the delegation ends', async () => {
    await using lane = await open()
    await lane.settle(lane.sender.send(authorizing(1)))
    await lane.settle(lane.sender.drain())
    await lane.blocks(1)
    expect(await lane.snapshot()).toMatchObject({ window: 1, account: { kind: 'delegated' } })
    const some = await lane.settle(
      Promise.all([2, 3, 4].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))),
    )
    await lane.settle(lane.sender.drain())
    expect(some.map(({ nonce }) => nonce)).toEqual([2, 3, 4])
    await lane.settle(lane.sender.send(authorizing(5, [{ contractAddress: zeroAddress }])))
    await lane.settle(lane.sender.drain())
    await lane.blocks(1)
    expect(await lane.snapshot()).toMatchObject({ account: { kind: 'plain' } })
    expect((await lane.snapshot()).window).toBeGreaterThan(1)
    expect(lane.events('stuck')).toEqual([])
  })

  test('limits.delegatedMax sets the number of transactions in flight', async () => {
    await using lane = await open({ code: DESIGNATOR, limits: { delegatedMax: 4 } })
    expect(await lane.snapshot()).toMatchObject({ window: 4 })
    await lane.settle(
      Promise.all([1, 2, 3, 4, 5].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))),
    )
    await lane.until(() => lane.sent.length > 0)
    await lane.clock.advance(500)
    expect(sentNonces(lane)).toEqual([0, 1, 2, 3])
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
  })

  test('reads the code again if a node mentions delegated accounts, without using a nonce', async () => {
    await using lane = await open()
    lane.chain.adjust({ address: ACCOUNT, code: DESIGNATOR })
    await lane.blocks(1)
    expect(await lane.snapshot()).toMatchObject({ account: { kind: 'plain' } })
    const all = [1, 2, 3, 4, 5, 6].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
    await lane.settle(Promise.all(all))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5, 6])
    expect(await lane.snapshot()).toMatchObject({ window: 1, account: { kind: 'delegated' } })
  })

  test('repeats a failed read of the code per block, not per poll', async () => {
    await using lane = await open()
    await lane.settle(lane.sender.send(authorizing(1)))
    lane.script = ({ method }) => (method === 'eth_getCode' ? refuses('internal error', -32603) : undefined)
    await lane.settle(lane.sender.drain())
    const waiting = lane.sender.send(transfer(9), { until: 'queued' })
    await lane.settle(waiting)
    const before = lane.requests.length
    await lane.blocks(5)
    const reads = lane.requests
      .slice(before)
      .filter((calls) => calls.some(({ method }) => method === 'eth_getCode'))
    expect(reads.length).toBeGreaterThanOrEqual(3)
    expect(reads.length).toBeLessThanOrEqual(7)
    lane.script = undefined
    await lane.blocks(2)
    expect(await lane.snapshot()).toMatchObject({ account: { kind: 'delegated' } })
  })
})

describe.each(['reth', 'geth', 'base'] as const)('a delegated account under the rules of %s', (rules) => {
  test('lands one transaction per block, without refusals or longer waits', async () => {
    await using lane = await openLane({ code: DESIGNATOR, chain: { rules } })
    const before = lane.chain.head.number
    const all = [1, 2, 3, 4, 5, 6].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
    await lane.settle(Promise.all(all))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5, 6])
    expect(lane.sent).toHaveLength(6)
    expect(lane.chain.head.number - before).toBeLessThanOrEqual(8)
  })

  test('sends transactions right after the delegation once each', async () => {
    await using lane = await openLane({ chain: { rules } })
    await lane.settle(lane.sender.send(authorizing(1)))
    // Half of these wait during the delegation, and half arrive after it is visible.
    const some = [2, 3, 4, 5].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
    await lane.until(() => lane.executed().length > 0)
    const more = [6, 7, 8, 9].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
    await lane.settle(Promise.all([...some, ...more]))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(lane.sent).toHaveLength(9)
  })
})

test('keeps the window if the delegation cannot be read', async () => {
  await using lane = await open()
  await lane.settle(lane.sender.send(authorizing(1, [{ contractAddress: zeroAddress }])))
  lane.script = ({ method }) => (method === 'eth_getCode' ? refuses('not allowed', -32601) : undefined)
  await lane.settle(lane.sender.drain())
  await lane.blocks(2)
  expect((await lane.snapshot()).window).toBeGreaterThan(1)
})
