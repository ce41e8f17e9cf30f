import { expect, test } from 'vitest'
import { openLane, refuses, type SimLane, TIMES_OUT, transfer } from './simLane.fixture.js'

const TIP_WEI = 100_000n
const tipOf = (lane: SimLane) => lane.sent[0]?.tipWei

test('a tip that nobody answers for is asked for again, not made up', async () => {
  await using lane = await openLane()
  let asked = 0
  lane.script = ({ method }) => (method === 'eth_maxPriorityFeePerGas' && asked++ < 2 ? TIMES_OUT : undefined)
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.events('error').length).toBeGreaterThan(0)
  expect(tipOf(lane)).toBe(TIP_WEI)
})

test('a node without eth_maxPriorityFeePerGas: its gas price above the base fee is the tip', async () => {
  await using lane = await openLane()
  lane.script = ({ method }) =>
    method === 'eth_maxPriorityFeePerGas' ? refuses('the method does not exist', -32601) : undefined
  await lane.settle(lane.sender.send(transfer(1)))
  expect(tipOf(lane)).toBe(TIP_WEI)
})

test('once known, the fees of an older block are better than none', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(1)))
  await lane.blocks(1)
  lane.script = ({ method }) => (method === 'eth_maxPriorityFeePerGas' ? TIMES_OUT : undefined)
  await lane.settle(lane.sender.send(transfer(2)))
  expect(lane.sent.map(({ tipWei }) => tipWei)).toEqual([TIP_WEI, TIP_WEI])
})

test('a node that is asked too often has the method all the same: its tip is not derived from something else', async () => {
  await using lane = await openLane()
  let asked = 0
  lane.script = ({ method }) => {
    if (method === 'eth_gasPrice') return { ok: true, result: '0x1' }
    return method === 'eth_maxPriorityFeePerGas' && asked++ < 2
      ? refuses('rate limit exceeded', -32005)
      : undefined
  }
  await lane.settle(lane.sender.send(transfer(1)))
  expect(tipOf(lane)).toBe(TIP_WEI)
})

test('a tip of nothing is one wei: pools take no less, and a no-op at the ceiling could not be raised', async () => {
  await using lane = await openLane()
  lane.script = ({ method }) =>
    method === 'eth_maxPriorityFeePerGas' ? { ok: true, result: '0x0' } : undefined
  await lane.settle(lane.sender.send(transfer(1)))
  expect(tipOf(lane)).toBe(1n)
})
