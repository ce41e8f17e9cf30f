import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { createCounter } from './counter.js'

const LIMITS = { reservationTtlMs: 1_000, gapFillAfterMs: 100, windowMax: 100, reorgHorizon: 4 }

function setUp(options: { at?: bigint; windowMax?: number; fills?: boolean } = {}) {
  const clock = createVirtualClock()
  const reported: string[] = []
  const filled: bigint[] = []
  const counter = createCounter({
    clock,
    limits: { ...LIMITS, windowMax: options.windowMax ?? LIMITS.windowMax },
    report: (event, count) => void reported.push(`${event} ${count}`),
    fill(count) {
      if (options.fills) filled.push(count)
      return options.fills === true
    },
  })
  const read = (latest: bigint, pending = latest, head = 1, fell = false) =>
    counter.take({ latest, pending }, head, fell)
  read(options.at ?? 5n)
  /** The events since the last call. */
  const news = () => reported.splice(0)
  return { clock, counter, read, news, filled }
}

test('hands out consecutive counts, starting at the counter including its pre-confirmed value', () => {
  const { counter, read } = setUp()
  read(5n, 7n)
  expect(counter.reserve(2)).toEqual([7n, 8n])
  expect(counter.state).toEqual({ floor: 5n, cursor: 9n, holes: [], inFlight: 2 })
})

test('hands out released counts again, lowest first', () => {
  const { counter } = setUp()
  counter.reserve(4)
  counter.release(7n)
  counter.release(5n)
  counter.release(5n)
  expect(counter.state).toEqual({ floor: 5n, cursor: 9n, holes: [5n, 7n], inFlight: 2 })
  expect(counter.reserve(3)).toEqual([5n, 7n, 9n])
})

test('makes a count that was released at the top new again', () => {
  const { counter } = setUp()
  counter.reserve(3)
  counter.release(6n)
  counter.release(7n)
  expect(counter.state).toMatchObject({ cursor: 6n, holes: [] })
})

test('never frees a committed count, neither by release nor by time', async () => {
  const { clock, counter, filled } = setUp({ fills: true })
  counter.reserve(2)
  expect(counter.commit(5n)).toBe(true)
  expect(counter.commit(6n)).toBe(true)
  counter.release(5n)
  await clock.advance(10_000)
  expect(counter.reserve(1)).toEqual([7n])
  expect(filled).not.toContain(5n)
})

test('reports a count as used once, when a sealed block has passed it, and only then', () => {
  const { counter, read, news } = setUp()
  counter.reserve(2)
  counter.commit(5n)
  counter.commit(6n)
  read(5n, 7n)
  expect(news()).toEqual([])
  expect(counter.state).toMatchObject({ floor: 5n, inFlight: 0 })
  read(6n, 7n)
  read(6n, 7n)
  expect(news()).toEqual(['used 5'])
})

test('reports foreign counts: one handed out, one given back, and ones beyond, which take two readings', () => {
  const { counter, read, news } = setUp()
  counter.reserve(3)
  counter.release(6n)
  counter.commit(7n)
  read(10n)
  expect(news()).toEqual(['foreign 5', 'foreign 6', 'used 7'])
  expect(counter.state).toMatchObject({ floor: 8n, cursor: 8n, holes: [] })
  counter.reserve(1)
  read(10n)
  read(10n)
  expect(news()).toEqual(['foreign 8', 'foreign 9'])
  expect(counter.reserve(1)).toEqual([10n])
})

test('moves nothing for one absurd answer while counts are out', () => {
  const { counter, read, news } = setUp()
  counter.reserve(1)
  read(5n, 2n ** 200n)
  read(5n)
  expect(counter.state).toMatchObject({ floor: 5n, cursor: 6n, inFlight: 1 })
  expect(news()).toEqual([])
})

test('does not believe an absurd pending count even with nothing out', () => {
  const { counter, read } = setUp()
  read(5n, 2n ** 200n)
  expect(counter.reserve(1)).toEqual([5n])
})

test('believes the chain at once with nothing out, and emits nothing for uses by others', () => {
  const { counter, read, news } = setUp()
  read(5_000n)
  expect(news()).toEqual([])
  expect(counter.reserve(1)).toEqual([5_000n])
})

test('refuses to commit a count that others have used, or that a filler uses up', async () => {
  const { clock, counter, read } = setUp({ fills: true })
  counter.reserve(3)
  counter.commit(7n)
  read(5n, 6n)
  expect(counter.commit(5n)).toBe(false)
  await clock.advance(1_000)
  expect(counter.commit(6n)).toBe(false)
})

test('takes nothing back for a lagging node', () => {
  const { counter, read, news } = setUp()
  counter.reserve(2)
  counter.commit(5n)
  read(6n)
  read(5n)
  read(6n)
  expect(news()).toEqual(['used 5'])
  expect(counter.state).toMatchObject({ floor: 6n, cursor: 7n, inFlight: 1 })
})

test('reports a use whose block left the chain, makes it live again, and does not free it', () => {
  const { counter, read, news } = setUp()
  counter.reserve(2)
  counter.commit(5n)
  counter.commit(6n)
  read(7n, 7n, 10)
  expect(counter.pace()).toBe('block')
  read(5n, 5n, 10, true)
  expect(news()).toEqual(['used 5', 'used 6', 'reorged 5', 'reorged 6'])
  expect(counter.state).toEqual({ floor: 5n, cursor: 7n, holes: [], inFlight: 2 })
  expect(counter.pace()).toBe('cadence')
  expect(counter.reserve(1)).toEqual([7n])
  read(7n, 7n, 12)
  expect(news()).toEqual(['used 5', 'used 6'])
})

test('keeps a withdrawn pre-confirmed count of others, and reports it as a gap if it stays open', async () => {
  const { clock, counter, read, news } = setUp()
  read(5n, 7n)
  read(5n, 5n)
  expect(counter.reserve(1)).toEqual([7n])
  await clock.advance(1_000)
  expect(news()).toEqual(['gap 5', 'gap 6', 'gap 7'])
})

test('stops following a use beyond the horizon', () => {
  const { counter, read } = setUp()
  counter.reserve(1)
  counter.commit(5n)
  read(6n, 6n, 10)
  read(6n, 6n, 13)
  expect(counter.pace()).toBe('block')
  read(6n, 6n, 14)
  expect(counter.pace()).toBe('idle')
})

test('reports a silent count again and again, and keeps it taken', async () => {
  const { clock, counter, news } = setUp()
  counter.reserve(2)
  await clock.advance(500)
  counter.commit(5n)
  counter.renew(6n)
  await clock.advance(999)
  expect(news()).toEqual([])
  await clock.advance(1)
  expect(news()).toContain('gap 6')
  await clock.advance(1_000)
  expect(news()).toContain('gap 6')
  expect(counter.reserve(1)).toEqual([7n])
})

test('reports as stuck the committed count at which the counter stays, not the ones above it', async () => {
  const { clock, counter, read, news } = setUp()
  counter.reserve(3)
  for (const count of [5n, 6n, 7n]) counter.commit(count)
  await clock.advance(900)
  read(6n)
  expect(news()).toEqual(['used 5'])
  await clock.advance(900)
  expect(news()).toEqual([])
  await clock.advance(200 + 900)
  expect(news()).toEqual(['stuck 6'])
})

test('reports an unclaimed hole after its time, and no longer once it was handed out', async () => {
  const { clock, counter, news } = setUp()
  counter.reserve(2)
  counter.commit(6n)
  counter.release(5n)
  await clock.advance(100)
  expect(news()).toEqual(['gap 5'])
  expect(counter.reserve(1)).toEqual([5n])
  counter.release(5n)
  counter.reserve(1)
  await clock.advance(500)
  expect(news()).toEqual([])
})

test('asks a filler for a hole after its time and for a silent count after its own, and for nothing else', async () => {
  const { clock, counter, read, news, filled } = setUp({ fills: true })
  counter.reserve(4)
  counter.commit(5n)
  counter.commit(8n)
  counter.release(6n)
  await clock.advance(100)
  expect(filled).toEqual([6n])
  expect(counter.state).toMatchObject({ holes: [], inFlight: 4 })
  await clock.advance(900)
  expect(filled).toEqual([6n, 7n])
  expect(counter.reserve(1)).toEqual([9n])
  read(8n)
  expect(news().filter((line) => !line.startsWith('stuck'))).toEqual(['used 5', 'gapFilled 6', 'gapFilled 7'])
})

test('asks again for a count that a filler could not use up', async () => {
  const { clock, counter, filled } = setUp({ fills: true })
  counter.reserve(2)
  counter.commit(6n)
  counter.release(5n)
  await clock.advance(100)
  await clock.advance(1_000)
  expect(filled).toEqual([5n, 5n])
})

test('takes a count of an earlier process, and makes the unclaimed counts below it holes', () => {
  const { counter } = setUp()
  expect(counter.adopt(7n)).toBe(true)
  expect(counter.adopt(5n)).toBe(true)
  expect(counter.adopt(4n)).toBe(false)
  expect(counter.state).toEqual({ floor: 5n, cursor: 8n, holes: [6n], inFlight: 2 })
  expect(counter.reserve(2)).toEqual([6n, 8n])
})

test('keeps the number of counts out within the limit, and gains room as the counter passes them', () => {
  const { counter, read } = setUp({ windowMax: 2 })
  counter.reserve(2)
  expect(counter.hasRoom(1)).toBe(false)
  read(5n, 6n)
  expect([counter.hasRoom(1), counter.hasRoom(2)]).toEqual([true, false])
})

test('leaves no timer when stopped, and continues from the same state when resumed', async () => {
  const { clock, counter, news } = setUp()
  counter.reserve(3)
  counter.release(5n)
  counter.stop()
  expect(clock.pendingTimers).toBe(0)
  counter.resume()
  await clock.advance(1_000)
  expect(news()).toEqual(['gap 5', 'gap 6', 'gap 7'])
})
