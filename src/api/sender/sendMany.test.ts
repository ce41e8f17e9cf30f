import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import type { Item, ItemResult, Progress, SendManyOptions } from '../../types/index.js'
import { onSend, openLane, refuses, type SimLane, swallow, transfer } from './simLane.fixture.js'

const items = (count: number): Item[] =>
  Array.from({ length: count }, (_, n) => ({ request: transfer(n + 1), id: `tx-${n + 1}` }))

async function all(
  lane: SimLane,
  source: Iterable<Item> | AsyncIterable<Item>,
  options: SendManyOptions = {},
): Promise<ItemResult[]> {
  const results: ItemResult[] = []
  const run = async () => {
    for await (const result of lane.sender.sendMany(source, options)) results.push(result)
  }
  await lane.settle(run())
  return results
}

test('each item has one result with its index and id, and nonces follow the order of the items', async () => {
  await using lane = await openLane()
  const results = await all(lane, items(300), { until: 'sealed' })
  expect(results.map(({ index }) => index).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 300 }, (_, n) => n),
  )
  expect(
    results.every((result) => result.ok && result.id === `tx-${result.index + 1}` && result.landed),
  ).toBe(true)
  expect(lane.executed()).toEqual(Array.from({ length: 300 }, (_, n) => n + 1))
})

test.each(['accepted', 'preconfirmed', 'sealed', 'safe'] as const)(
  'until %s: each item reaches that stage and no later one',
  async (until) => {
    await using lane = await openLane()
    const [result] = await all(lane, items(1), { until })
    expect(result).toMatchObject({ ok: true, tx: { stage: until } })
    expect(result !== undefined && 'landed' in result).toBe(until !== 'accepted')
  },
)

test('a failed item has its error with the fate, and the others go on', async () => {
  await using lane = await openLane()
  lane.script = onSend((tx) => (tx.nonce === 1 ? refuses('invalid transaction v, r, s values') : undefined))
  const three = items(3)
  const bad = { request: { ...transfer(9), value: -1n } } as Item
  const results = await all(lane, [...three.slice(0, 2), bad, null as never, three[2] as Item])
  const byIndex = results.sort((a, b) => a.index - b.index)
  expect(byIndex.map(({ ok }) => ok)).toEqual([true, false, false, false, true])
  expect(byIndex[1]).toMatchObject({ error: { code: 'REJECTED', fate: 'notExecuted' } })
  expect(byIndex[2]).toMatchObject({ error: { code: 'INVALID', fate: 'notExecuted' } })
  expect(byIndex[3]).toMatchObject({ error: { code: 'INVALID', fate: 'notExecuted' } })
})

test('P4: the same ids sent again are the same transactions', async () => {
  await using lane = await openLane()
  const first = await all(lane, items(20), { until: 'sealed' })
  const second = await all(lane, items(20), { until: 'sealed' })
  const hashes = (results: ItemResult[]) => results.map((result) => result.ok && result.tx.hash).sort()
  expect(hashes(second)).toEqual(hashes(first))
  expect(lane.executed()).toHaveLength(20)
})

test('an error of the source comes after the results of the items taken', async () => {
  await using lane = await openLane()
  async function* broken() {
    yield* items(2)
    throw new Error('the file ends here')
  }
  const results: ItemResult[] = []
  const run = async () => {
    for await (const result of lane.sender.sendMany(broken())) results.push(result)
  }
  const error = await lane.rejection(run())
  expect(error.message).toContain('the file ends here')
  expect(results.map(({ ok }) => ok)).toEqual([true, true])
})

test('P9: an endless source is read only as fast as its items are sent', async () => {
  await using lane = await openLane({ limits: { queueMax: 50, window: 8, windowMax: 8 } })
  let taken = 0
  async function* endless(): AsyncGenerator<Item> {
    for (;;) yield { request: transfer(++taken) }
  }
  const iterator = lane.sender.sendMany(endless(), { until: 'sealed' })[Symbol.asyncIterator]()
  for (let n = 0; n < 20; n++) await lane.settle(iterator.next())
  // A slow consumer holds the source back: at most the yielded items and `queueMax` more, however many have landed.
  await lane.blocks(5)
  expect(taken).toBeLessThanOrEqual(20 + 50)
  await lane.settle(iterator.return?.() ?? Promise.reject())
})

test('P9: a full queue holds the source back and fails no items', async () => {
  await using lane = await openLane({ limits: { queueMax: 10, window: 4, windowMax: 4 } })
  const results = await all(lane, items(60), { until: 'sealed' })
  expect(results.filter(({ ok }) => !ok)).toEqual([])
  expect(lane.executed()).toHaveLength(60)
})

test('an early return closes the source, also a waiting one, and the items taken go on', async () => {
  await using lane = await openLane()
  let closed = false
  const five = items(5)
  const source: AsyncIterableIterator<Item> = {
    [Symbol.asyncIterator]: () => source,
    next: async () => {
      const value = five.shift()
      return value ? { value, done: false } : new Promise<never>(() => {})
    },
    return: async () => {
      closed = true
      return { value: undefined, done: true }
    },
  }
  const run = async () => {
    for await (const result of lane.sender.sendMany(source)) if (result.ok) break
  }
  await lane.settle(run())
  expect(closed).toBe(true)
  await lane.settle(lane.sender.drain())
  expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
})

test('abort ends the iteration although the source waits for an item that never comes', async () => {
  await using lane = await openLane()
  async function* idle() {
    yield* items(1)
    await new Promise(() => {})
  }
  const controller = new AbortController()
  const run = all(lane, idle(), { signal: controller.signal })
  await lane.clock.advance(1_000)
  controller.abort()
  expect(await run).toMatchObject([{ ok: true }])
})

test('abort: queued items end ABORTED, notExecuted; journaled items go on; no more items are taken', async () => {
  await using lane = await openLane({ limits: { window: 1, windowMax: 1 } })
  lane.script = swallow(1, 2)
  const controller = new AbortController()
  const results: ItemResult[] = []
  const run = async () => {
    for await (const result of lane.sender.sendMany(items(5), { until: 'sealed', signal: controller.signal }))
      results.push(result)
  }
  const running = run()
  await lane.clock.advance(1_000)
  controller.abort()
  await lane.settle(running)
  const codes = results.sort((a, b) => a.index - b.index).map((result) => !result.ok && result.error.fate)
  expect(codes).toEqual(['inFlight', 'inFlight', 'notExecuted', 'notExecuted', 'notExecuted'])
  lane.script = undefined
  await lane.settle(lane.sender.drain())
  expect(lane.executed()).toEqual([1, 2])
})

test('takes no item if the signal was aborted before', async () => {
  await using lane = await openLane()
  expect(await all(lane, items(3), { signal: AbortSignal.abort() })).toEqual([])
  expect(lane.sent).toEqual([])
})

test('onProgress counts items, and an error that it throws has no effect', async () => {
  await using lane = await openLane()
  const seen: Progress[] = []
  const onProgress = (progress: Progress) => {
    seen.push(progress)
    throw new Error('not my problem')
  }
  const results = await all(lane, items(5), { until: 'sealed', onProgress })
  expect(results.every(({ ok }) => ok)).toBe(true)
  expect(seen.at(-1)).toMatchObject({ taken: 5, accepted: 5, sealed: 5, failed: 0 })
})

test('one signal for many items gets one listener, because Node would warn of a leak', async () => {
  await using lane = await openLane()
  const { signal } = new AbortController()
  const listening: number[] = []
  const onProgress = () => listening.push(getEventListeners(signal, 'abort').length)
  await all(lane, items(50), { until: 'sealed', signal, onProgress })
  expect(Math.max(...listening)).toBe(1)
})
