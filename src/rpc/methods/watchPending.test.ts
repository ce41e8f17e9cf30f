import { describe, expect, test } from 'vitest'
import { createStubPort, hashOf, rawBlock, type StubAnswer } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { watchPending } from './polls.js'

const block = (digit: string): StubAnswer => ({ result: rawBlock({ hash: hashOf(digit) }) })
const failed: StubAnswer = { failure: { kind: 'network', message: 'reset' } }

/** Watches a node that answers each poll with the next of the answers, and later ones with the last. */
function setUp(answers: readonly (StubAnswer | Promise<StubAnswer>)[], onBlock?: () => void) {
  const clock = createVirtualClock()
  const seen: string[] = []
  const errors: unknown[] = []
  const controller = new AbortController()
  const port = createStubPort(async (_, number) => [await answers[Math.min(number, answers.length) - 1]!])
  const stop = watchPending(port, {
    clock,
    signal: controller.signal,
    onBlock(each) {
      seen.push(each.hash?.slice(0, 3) ?? 'null')
      onBlock?.()
    },
    onError: (error) => errors.push(error),
  })
  return { clock, seen, errors, port, stop, abort: () => controller.abort() }
}

describe('watching the pending block', () => {
  test('reports changes only', async () => {
    const { clock, seen } = setUp([block('1'), block('1'), block('2'), block('2'), block('3')])
    await clock.advance(1000)
    expect(seen).toEqual(['0x1', '0x2', '0x3'])
  })

  test('polls every 200 ms from start to start, and never twice at once', async () => {
    let answer = (_: StubAnswer) => {}
    const slow = new Promise<StubAnswer>((resolve) => {
      answer = resolve
    })
    const { clock, port } = setUp([block('1'), slow, block('2')])
    await clock.advance(199)
    expect(port.batches).toHaveLength(1)
    await clock.advance(1)
    expect(port.batches).toHaveLength(2)
    await clock.advance(5000)
    expect(port.batches).toHaveLength(2)
    answer(block('1'))
    await clock.advance(0)
    expect(port.batches).toHaveLength(3)
  })

  test('continues after a failed poll, and reports the failure', async () => {
    const { clock, seen, errors } = setUp([block('1'), failed, { result: 'x' }, { result: null }, block('2')])
    await clock.advance(1000)
    expect(seen).toEqual(['0x1', '0x2'])
    expect(errors).toMatchObject([{ failure: 'network' }, { failure: 'malformed' }])
  })

  test('continues if the listener throws, and passes the error to onError', async () => {
    const { clock, errors, seen } = setUp([block('1'), block('2')], () => {
      throw new Error('mine')
    })
    await clock.advance(400)
    expect(seen).toEqual(['0x1', '0x2'])
    expect(errors).toHaveLength(2)
  })

  test.each(['stop', 'abort'] as const)(
    'ends with %s: no timer is left, and a pending answer is not reported',
    async (how) => {
      let answer = (_: StubAnswer) => {}
      const late = new Promise<StubAnswer>((resolve) => {
        answer = resolve
      })
      const watch = setUp([late])
      await watch.clock.advance(0)
      watch[how]()
      answer(block('1'))
      await watch.clock.advance(1000)
      expect(watch.seen).toEqual([])
      expect(watch.errors).toEqual([])
      expect(watch.clock.pendingTimers).toBe(0)
      expect(watch.port.batches).toHaveLength(1)
    },
  )

  test('never starts with a signal that is already aborted', async () => {
    const port = createStubPort(() => [block('1')])
    const clock = createVirtualClock()
    watchPending(port, { onBlock: () => {}, clock, signal: AbortSignal.abort() })
    await clock.advance(1000)
    expect(port.batches).toEqual([])
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('rejects an interval of %s', (intervalMs) => {
    const port = createStubPort(() => [block('1')])
    expect(() => watchPending(port, { onBlock: () => {}, intervalMs })).toThrow(/intervalMs/)
  })
})
