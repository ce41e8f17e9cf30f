import { expect, test } from 'vitest'
import { createStubPort, rawBlock } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { PoolEndpoint } from './endpointPool.js'
import { createEndpointSelector } from './endpointSelector.js'

/** So many endpoints on one chain of one block; the `silent` ones answer nothing. */
function readersOf(count: number, silent: readonly number[] = []) {
  const clock = createVirtualClock()
  const block = rawBlock()
  const ports = Array.from({ length: count }, (_, index) =>
    createStubPort((calls) =>
      calls.map(({ params }) =>
        silent.includes(index)
          ? { failure: { kind: 'timeout', message: 'no answer' } }
          : { result: params[0] === 'latest' || params[0] === block.number ? block : null },
      ),
    ),
  )
  const endpoints = ports.map(
    (port, index) =>
      ({
        port: { ...port, name: `e${index}` },
        role: 'both',
        profile: { current: () => ({ pending: 'mempool' }) },
        probed: true,
        gate: { isBlocked: false },
      }) as unknown as PoolEndpoint,
  )
  const reported: string[] = []
  const tracker = {
    head: { number: Number(block.number), hash: block.hash },
    headAtMs: undefined,
    blockMs: 2_000,
    hashAt: () => block.hash,
    onReaderChanged: () => {},
  }
  const parts = {
    endpoints,
    tracker: () => tracker,
    prober: { identity: { calls: [], holds: () => true } },
    clock,
    limits: { readTimeoutMs: 1_000, reorgHorizon: 64 },
    report: ({ port }: PoolEndpoint, change: string, reason?: string) =>
      void reported.push([port.name, change, reason].filter(Boolean).join(' ')),
  }
  const selector = createEndpointSelector(parts as unknown as Parameters<typeof createEndpointSelector>[0])
  if (selector === undefined) throw new Error('one of them is read')
  return { selector, clock, reported, asked: () => ports.map(({ batches }) => batches.length) }
}

test('a doubt about the reader is resolved at once: another endpoint with the same blocks becomes the reader', async () => {
  const { selector, clock, reported, asked } = readersOf(2)
  selector.doubtReader('it counts 7')
  await clock.advance(0)
  expect(reported).toEqual(['e0 doubtful it counts 7', 'e0 down', 'e1 reader'])
  expect([asked(), selector.current.port.name]).toEqual([[1, 1], 'e1'])
  // Nothing is wrong with the one that is read now.
  await clock.advance(2_000)
  selector.ticked(true, 10)
  await clock.advance(0)
  expect(asked()).toEqual([1, 1])
  await clock.advance(8_000)
  selector.ticked(true, 10)
  await clock.advance(0)
  expect([asked(), selector.current.port.name]).toEqual([[2, 2], 'e1'])
})

test('a doubt is emitted once for each reason', async () => {
  const { selector, clock, reported } = readersOf(2, [1])
  for (const why of ['it counts 7', 'it counts 7', 'it counts 8']) {
    selector.doubtReader(why)
    await clock.advance(0)
  }
  expect(reported).toEqual(['e0 doubtful it counts 7', 'e0 doubtful it counts 8'])
})

test('while no other endpoint can be read, the search repeats each second, not each 10 s', async () => {
  const { selector, clock, reported, asked } = readersOf(2, [1])
  selector.doubtReader('it counts 7')
  await clock.advance(0)
  expect(asked()).toEqual([1, 1])
  for (const looks of [2, 3]) {
    await clock.advance(999)
    selector.ticked(true, 10)
    await clock.advance(1)
    expect(asked()).toEqual([looks - 1, looks - 1])
    selector.ticked(true, 10)
    await clock.advance(0)
    expect(asked()).toEqual([looks, looks])
  }
  expect(reported).toEqual(['e0 doubtful it counts 7'])
})

test('one search runs at a time', async () => {
  const { selector, clock, asked } = readersOf(2, [1])
  selector.doubtReader('it counts 7')
  selector.doubtReader('it counts 8')
  await clock.advance(0)
  expect(asked()).toEqual([1, 1])
})

test('with one endpoint, or after a stop, a doubt sends no request', async () => {
  const alone = readersOf(1)
  alone.selector.doubtReader('it counts 7')
  await alone.clock.advance(0)
  expect([alone.asked(), alone.reported]).toEqual([[0], ['e0 doubtful it counts 7']])
  const stopped = readersOf(2)
  stopped.selector.stop()
  stopped.selector.doubtReader('it counts 7')
  await stopped.clock.advance(0)
  expect(stopped.asked()).toEqual([0, 0])
})
