import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { openLane, transfer } from '../api/sender/simLane.fixture.js'
import { TxlaneError } from '../errors/base.js'
import type { Store } from '../types/index.js'
import { createRepeats, kindOfError } from './repeats.js'

function counting() {
  const clock = createVirtualClock()
  const reported: { one: string; times: number; atMs: number }[] = []
  const startMs = clock.now()
  const repeats = createRepeats<string>({
    clock,
    kindOf: (one) => one.replace(/\d/g, ''),
    report: (one, times) => void reported.push({ one, times, atMs: clock.now() - startMs }),
  })
  return { clock, reported, ...repeats }
}

test('a hundred equal items in ten seconds are emitted twice: the first at once, the others as a count', async () => {
  const { clock, reported, note, stop } = counting()
  for (let n = 1; n <= 100; n++) {
    note(`a${n}`)
    await clock.advance(99)
  }
  await clock.advance(1_000)
  expect(reported).toEqual([
    { one: 'a1', times: 1, atMs: 0 },
    { one: 'a100', times: 99, atMs: 10_000 },
  ])
  stop()
  expect(clock.pendingTimers).toBe(0)
})

test('the pauses double while equal items come, up to five minutes; after a quiet pause the next item is emitted at once', async () => {
  const { clock, reported, note, stop } = counting()
  for (let second = 0; second < 2_000; second++) {
    note('a')
    await clock.advance(1_000)
  }
  const gaps = reported.slice(1).map(({ atMs }, index) => atMs - (reported[index]?.atMs ?? 0))
  expect(gaps).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, ...gaps.slice(5)])
  expect(new Set(gaps.slice(5))).toEqual(new Set([300_000]))
  await clock.advance(900_000)
  expect(clock.pendingTimers).toBe(0)
  const before = reported.length
  note('a')
  expect(reported.slice(before)).toMatchObject([{ times: 1 }])
  stop()
})

test('property: no item is lost, for any sequence of items and any end', async () => {
  const step = fc.tuple(fc.nat(80), fc.nat(15_000))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
      const { clock, reported, note, stop } = counting()
      for (const [kind, pauseMs] of steps) {
        note(String.fromCharCode(0x4e00 + kind))
        await clock.advance(pauseMs)
      }
      stop()
      expect(reported.reduce((sum, { times }) => sum + times, 0)).toBe(steps.length)
      expect(clock.pendingTimers).toBe(0)
    }),
    { numRuns: 50 },
  )
})

test('errors are equal if code and words are equal, for any numbers and hashes in them', () => {
  const error = (message: string, details?: string, code: 'REJECTED' | 'STORE' = 'REJECTED') =>
    kindOfError(new TxlaneError(message, { code, fate: 'notExecuted', details }))
  expect(error('nonce 7 of 0xab')).toBe(error('nonce 18 of 0x01'))
  expect(error('a', 'http://one said: 503')).not.toBe(error('a', 'http://two said: 503'))
  expect(error('a')).not.toBe(error('b'))
  expect(error('a')).not.toBe(error('a', undefined, 'STORE'))
  expect(kindOfError(new Error('x'.repeat(10_000))).length).toBeLessThan(2_000)
})

test('a write that fails again and again is one event, then a number, and none is lost at close', async () => {
  const lane = await openLane()
  const store = lane.parameters.store as Store
  const { write } = store
  let failures = 0
  const down = () => {
    failures++
    return Promise.reject(new TxlaneError('It is down.', { code: 'STORE', fate: 'notExecuted' }))
  }
  Object.assign(store, { write: down })
  const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
  await lane.until(() => failures > 4)
  expect(lane.events('error')).toMatchObject([{ times: 1, error: { code: 'STORE' } }])
  Object.assign(store, { write })
  await lane.settle(tx.wait('sealed'))
  await lane[Symbol.asyncDispose]()
  const times = lane.events('error').map((event) => Number(event.times))
  expect(times).toEqual([1, failures - 1])
})
