import { pad, toHex } from 'viem'
import { expect, test } from 'vitest'
import { createStubPort, rawBlock, type StubAnswer } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { RpcCall } from '../../rpc/port.js'
import { createTracker } from './blockPoller.js'
import { type Follower, IDLE_FOLLOWER } from './follower.js'
import type { TagsWanted } from './tags.js'

const ADDRESS = pad('0x1', { size: 20 })
const hashOf = (chain: number, number: number) => pad(toHex(chain * 1_000_000 + number))
const blockOf = (chain: number, number: number, below = chain, seconds = 0): StubAnswer => ({
  result: rawBlock({
    number: toHex(number),
    hash: hashOf(chain, number),
    parentHash: hashOf(below, number - 1),
    timestamp: toHex(seconds),
    transactions: [],
  }),
})
const [OURS, OTHER] = [1, 2]
const absent: StubAnswer = { failure: { kind: 'rpc', code: -32000, message: 'finalized block not found' } }

const follower: Follower = {
  ...IDLE_FOLLOWER,
  address: ADDRESS,
  pace: () => 'cadence',
  tags: () => 'now',
  broken: (error) => {
    throw error
  },
}

/** A chain that was walked from block 100 on, and the answer for `finalized`. */
async function walked(finalized = blockOf(OURS, 100), wanted: TagsWanted = 'now') {
  const clock = createVirtualClock()
  const world = {
    head: 100,
    finalized: () => finalized,
    /** The requests for each tag. */
    asked: 0,
    askedSafe: 0,
    chain: (_: number) => OURS,
    secondsOf: (_: number) => 0,
    at: (number: number) =>
      blockOf(world.chain(number), number, world.chain(number - 1), world.secondsOf(number)),
  }
  const reply = ({ method, params }: RpcCall): StubAnswer => {
    if (method === 'eth_chainId') return { result: '0x1' }
    if (method !== 'eth_getBlockByNumber') return { result: '0x0' }
    const [tag] = params as [string]
    if (tag === 'safe') world.askedSafe++
    if (tag === 'safe') return world.finalized()
    if (tag === 'finalized') world.asked++
    if (tag === 'finalized') return world.finalized()
    return world.at(tag === 'latest' ? world.head : Number(tag))
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
  tracker.follow({ ...follower, tags: () => wanted })
  await tick()
  const rise = async (head: number) => {
    world.head = head
    await tick()
  }
  return { world, tracker, tick, rise }
}

test.each<[TagsWanted, number]>([
  ['sometime', 2],
  ['seldom', 1],
])('tags that no caller waits for are read at most once in 30 s: %s', async (wanted, reads) => {
  const { world, tracker, rise } = await walked(undefined, wanted)
  world.finalized = () => world.at(world.head)
  await rise(101)
  const before = world.asked
  for (let head = 102; head <= 162; head++) await rise(head)
  expect(world.asked - before).toBe(reads)
  tracker.stop()
})

test('a tag that stays is read less and less often, until it moves, while no caller waits', async () => {
  const { world, tracker, rise } = await walked(blockOf(OURS, 100), 'sometime')
  let head = 100
  const secondsToRead = async () => {
    const from = [world.asked, head] as const
    while (world.asked === from[0]) await rise(++head)
    return head - from[1]
  }
  await secondsToRead()
  const pauses: number[] = []
  for (let reads = 0; reads < 6; reads++) pauses.push(await secondsToRead())
  expect(pauses).toEqual([60, 120, 240, 240, 240, 240])
  world.finalized = () => world.at(world.head)
  await secondsToRead()
  expect(await secondsToRead()).toBe(30)
  tracker.stop()
})

test('tags that lag by minutes are read once in 30 s, both in one request, although a caller waits', async () => {
  const { world, tracker, rise } = await walked()
  world.secondsOf = (number) => number
  world.finalized = () => world.at(world.head - 600)
  for (let head = 2_000; head <= 2_004; head++) await rise(head)
  const before = [world.asked, world.askedSafe] as const
  const tags = new Set<unknown>()
  for (let head = 2_005; head <= 2_065; head++) {
    await rise(head)
    expect(tracker.tag('finalized')).toBeLessThanOrEqual(world.head - 600)
    tags.add(tracker.tag('finalized'))
  }
  expect([world.asked - before[0], world.askedSafe - before[1]]).toEqual([2, 2])
  expect(tags.size).toBeGreaterThan(1)
  tracker.stop()
})

test('tags that lag by seconds are read once in half that lag while a caller waits', async () => {
  const { world, tracker, rise } = await walked()
  world.secondsOf = (number) => number
  world.finalized = () => world.at(world.head - 8)
  for (let head = 101; head <= 120; head++) await rise(head)
  const before = world.asked
  for (let head = 121; head <= 160; head++) await rise(head)
  expect(world.asked - before).toBe(10)
  tracker.stop()
})

test('a tag rises only to a walked block', async () => {
  const { world, tracker, rise } = await walked()
  expect(tracker.tag('finalized')).toBe(100)
  await rise(104)
  world.finalized = () => blockOf(OURS, 103)
  await rise(105)
  expect(tracker.tag('finalized')).toBe(103)
  // A lagging replica does not take it back.
  world.finalized = () => blockOf(OURS, 101)
  await rise(106)
  expect(tracker.tag('finalized')).toBe(103)
  tracker.stop()
})

test('a tag leaves with its block if the chain is replaced from there on', async () => {
  const { world, tracker, rise } = await walked()
  await rise(104)
  world.finalized = () => blockOf(OURS, 103)
  await rise(105)
  expect(tracker.tag('finalized')).toBe(103)
  // The node was reset: the chain ends at block 100, and another fork reaches the same length again.
  world.chain = (number) => (number > 100 ? OTHER : OURS)
  world.finalized = () => blockOf(OURS, 100)
  await rise(105)
  await rise(106)
  expect(tracker.tag('finalized')).toBe(100)
  tracker.stop()
})

test.each<[string, StubAnswer]>([
  ['above the head', blockOf(OTHER, 500_000)],
  ['at a walked number', blockOf(OTHER, 104)],
  ['below the walk', blockOf(OTHER, 42)],
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

test('a tag above the head is requested again until its block was walked', async () => {
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
  ['a tag below the walk', blockOf(OURS, 42), 42],
  ['the absence of a tag', absent, 'absent'],
  ['the absence of a tag, as null', { result: null }, 'absent'],
])('%s is believed once two answers in a row show it', async (_, answer, shows) => {
  const { world, tracker, rise } = await walked(answer)
  await rise(101)
  expect(tracker.tag('finalized')).toBe(shows)
  expect(world.asked).toBeGreaterThanOrEqual(2)
  tracker.stop()
})

test('of two different answers below the walk, the lower block is believed', async () => {
  const { world, tracker, rise } = await walked(blockOf(OURS, 42))
  world.finalized = () => blockOf(OURS, 44)
  await rise(101)
  expect(tracker.tag('finalized')).toBe(42)
  tracker.stop()
})

test('an endpoint that has no tag at first has it once it shows one', async () => {
  const { world, tracker, rise } = await walked(absent)
  await rise(101)
  expect(tracker.tag('finalized')).toBe('absent')
  world.finalized = () => blockOf(OURS, 101)
  let head = 102
  while (tracker.tag('finalized') === 'absent' && head < 200) await rise(head++)
  expect(tracker.tag('finalized')).toBe(101)
  // It was asked no more often than a tag that lags by minutes.
  expect(world.asked).toBeLessThanOrEqual(8)
  tracker.stop()
})

test('a tag that equals the newest block is believed at once', async () => {
  const { world, tracker, rise } = await walked()
  world.finalized = () => world.at(world.head)
  await rise(101)
  await rise(102)
  expect(tracker.tag('finalized')).toBe(102)
  tracker.stop()
})
