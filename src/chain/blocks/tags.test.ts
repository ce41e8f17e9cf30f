import { pad, toHex } from 'viem'
import { expect, test } from 'vitest'
import { createStubPort, rawBlock, type StubAnswer } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { RpcCall } from '../../rpc/port.js'
import { createTracker } from './blockPoller.js'
import type { Follower } from './follower.js'
import type { TagWanted } from './tags.js'

const ADDRESS = pad('0x1', { size: 20 })
const hashOf = (chain: number, number: number) => pad(toHex(chain * 1_000_000 + number))
const blockOf = (chain: number, number: number, below = chain): StubAnswer => ({
  result: rawBlock({
    number: toHex(number),
    hash: hashOf(chain, number),
    parentHash: hashOf(below, number - 1),
    transactions: [],
  }),
})
const [OURS, OTHER] = [1, 2]
const absent: StubAnswer = { failure: { kind: 'rpc', code: -32000, message: 'finalized block not found' } }

const follower: Follower = {
  address: ADDRESS,
  pace: () => 'cadence',
  tags: () => ({ safe: 'never', finalized: 'now' }),
  wantsBalance: () => false,
  async sealed() {},
  left() {},
  preconfirmed() {},
  observed() {},
  counts() {},
  balance() {},
  async ticked() {},
  unreachable() {},
  broken: (error) => {
    throw error
  },
}

/** A chain that was walked from block 100 on, and what is answered for `finalized`. */
async function walked(finalized = blockOf(OURS, 100), wanted: TagWanted = 'now') {
  const clock = createVirtualClock()
  const world = { head: 100, finalized: () => finalized, asked: 0, chain: (_: number) => OURS }
  const reply = ({ method, params }: RpcCall): StubAnswer => {
    if (method === 'eth_chainId') return { result: '0x1' }
    if (method !== 'eth_getBlockByNumber') return { result: '0x0' }
    const [tag] = params as [string]
    if (tag === 'finalized') world.asked++
    if (tag === 'finalized') return world.finalized()
    const number = tag === 'latest' ? world.head : Number(tag)
    return blockOf(world.chain(number), number, world.chain(number - 1))
  }
  const port = createStubPort((calls) => calls.map(reply))
  const tracker = createTracker({
    port: () => port,
    identity: {
      calls: [{ method: 'eth_chainId', params: [] }],
      holds: ([first]) => first?.ok && first.result === '0x1',
    },
    clock,
    cadenceMs: () => 200,
    pending: () => ({ block: false, count: false, paced: false }),
    timeoutMs: 1_000,
    horizon: 64,
  })
  const tick = async () => {
    const ticked = tracker.nextTick()
    await clock.advance(1_000)
    await ticked
  }
  tracker.follow({ ...follower, tags: () => ({ safe: 'never', finalized: wanted }) })
  await tick()
  const rise = async (head: number) => {
    world.head = head
    await tick()
  }
  return { world, tracker, tick, rise }
}

test('a tag that nobody waits for is read once in 16 heads', async () => {
  const { world, tracker, rise } = await walked(blockOf(OURS, 100), 'sometime')
  await rise(101)
  const before = world.asked
  for (let head = 102; head <= 165; head++) await rise(head)
  expect(world.asked - before).toBe(4)
  tracker.stop()
})

test('a tag goes where its block was walked', async () => {
  const { world, tracker, rise } = await walked()
  expect(tracker.tag('finalized')).toBe(100)
  await rise(104)
  world.finalized = () => blockOf(OURS, 103)
  await rise(105)
  expect(tracker.tag('finalized')).toBe(103)
  // A replica that is behind does not take it back.
  world.finalized = () => blockOf(OURS, 101)
  await rise(106)
  expect(tracker.tag('finalized')).toBe(103)
  tracker.stop()
})

test('a tag goes with its block where the chain is another one from there on', async () => {
  const { world, tracker, rise } = await walked()
  await rise(104)
  world.finalized = () => blockOf(OURS, 103)
  await rise(105)
  expect(tracker.tag('finalized')).toBe(103)
  // The node was reset: nothing above block 100 is there any more, and another chain is as long again.
  world.chain = (number) => (number > 100 ? OTHER : OURS)
  world.finalized = () => blockOf(OURS, 100)
  await rise(105)
  await rise(106)
  expect(tracker.tag('finalized')).toBe(100)
  tracker.stop()
})

test.each<[string, StubAnswer]>([
  ['above the head', blockOf(OTHER, 500_000)],
  ['at a number of ours', blockOf(OTHER, 104)],
  ['below what was walked', blockOf(OTHER, 42)],
  ['that has no such tag', absent],
])('one call of a batch that another chain answers moves no tag: %s', async (_, stray) => {
  const { world, tracker, tick, rise } = await walked(blockOf(OURS, 10))
  await rise(104)
  let strays = 1
  world.finalized = () => (strays-- > 0 ? stray : blockOf(OURS, 102))
  await rise(105)
  await tick()
  expect(strays).toBeLessThan(0)
  expect(tracker.tag('finalized')).toBe(102)
  tracker.stop()
})

test('one above the head is asked for again until it was walked', async () => {
  const { world, tracker, tick, rise } = await walked()
  await rise(104)
  // From a replica that is ahead of the one that showed the head.
  world.finalized = () => blockOf(OURS, 108)
  await rise(105)
  expect(tracker.tag('finalized')).toBe(100)
  await rise(108)
  await tick()
  expect(tracker.tag('finalized')).toBe(108)
  const { asked } = world
  await tick()
  expect(world.asked).toBe(asked)
  tracker.stop()
})

test.each<[string, StubAnswer, number | 'absent']>([
  ['a tag below what was walked', blockOf(OURS, 42), 42],
  ['that there is no such tag', absent, 'absent'],
])('%s is believed of an endpoint that shows that it is on our chain', async (_, answer, shows) => {
  const { tracker, rise } = await walked(answer)
  expect(tracker.tag('finalized')).toBe(shows)
  await rise(101)
  expect(tracker.tag('finalized')).toBe(shows)
  tracker.stop()
})
