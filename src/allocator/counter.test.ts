import { pad, toHex } from 'viem'
import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import type { Slot } from '../ledger/slot.js'
import { createCounter } from './counter.js'
import { payloadAttempt } from './countRecords.js'

const LIMITS = { reservationTtlMs: 1_000, gapFillAfterMs: 100, windowMax: 100 }
const PAYLOAD = payloadAttempt('0x12', 1)

type Options = { at?: bigint; windowMax?: number; fills?: boolean; stored?: readonly Slot[]; holder?: string }

function setUp(options: Options = {}) {
  const clock = createVirtualClock()
  const reported: string[] = []
  const filled: bigint[] = []
  const tags = { finalized: -1 }
  const counter = createCounter({
    clock,
    finalTo: () => tags.finalized,
    limits: { ...LIMITS, windowMax: options.windowMax ?? LIMITS.windowMax },
    report: (event, count) => void reported.push(`${event} ${count}`),
    fill(count) {
      if (options.fills) filled.push(count)
      return options.fills === true
    },
    holder: options.holder ?? 'me',
    touched() {},
  })
  if (options.stored) counter.restore(options.stored)
  const read = (latest: bigint, pending = latest, head = 1, fell = false) =>
    counter.take({ latest, pending }, blockAt(head), fell)
  read(options.at ?? 5n)
  /** The events since the last call. */
  const news = () => reported.splice(0)
  return { clock, counter, read, news, filled, tags }
}

const blockAt = (number: number) => ({ number, hash: pad(toHex(number), { size: 32 }) })

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
  expect(counter.commit(5n, PAYLOAD)).toBe(true)
  expect(counter.commit(6n, PAYLOAD)).toBe(true)
  counter.release(5n)
  await clock.advance(10_000)
  expect(counter.reserve(1)).toEqual([7n])
  expect(filled).not.toContain(5n)
})

test('reports a count as used once, when a sealed block has passed it, and only then', () => {
  const { counter, read, news } = setUp()
  counter.reserve(2)
  counter.commit(5n, PAYLOAD)
  counter.commit(6n, PAYLOAD)
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
  counter.commit(7n, PAYLOAD)
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
  counter.commit(7n, PAYLOAD)
  read(5n, 6n)
  expect(counter.commit(5n, PAYLOAD)).toBe(false)
  await clock.advance(1_000)
  expect(counter.commit(6n, PAYLOAD)).toBe(false)
})

test('takes nothing back for a lagging node', () => {
  const { counter, read, news } = setUp()
  counter.reserve(2)
  counter.commit(5n, PAYLOAD)
  read(6n)
  read(5n)
  read(6n)
  expect(news()).toEqual(['used 5'])
  expect(counter.state).toMatchObject({ floor: 6n, cursor: 7n, inFlight: 1 })
})

test('reports a use whose block left the chain, makes it live again, and does not free it', () => {
  const { counter, read, news } = setUp()
  counter.reserve(2)
  counter.commit(5n, PAYLOAD)
  counter.commit(6n, PAYLOAD)
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

test('follows a use until its block is final, however many blocks come', () => {
  const { counter, read, tags } = setUp()
  counter.reserve(1)
  counter.commit(5n, PAYLOAD)
  read(6n, 6n, 10)
  tags.finalized = 9
  read(6n, 6n, 100_000)
  expect(counter.pace()).toBe('block')
  tags.finalized = 10
  read(6n, 6n, 100_000)
  expect(counter.pace()).toBe('idle')
})

test('follows a use again after a reorg, which may have moved it to a later block', () => {
  const { counter, read, tags } = setUp()
  counter.reserve(1)
  counter.commit(5n, PAYLOAD)
  read(6n, 6n, 10)
  read(6n, 6n, 12, true)
  tags.finalized = 11
  read(6n, 6n, 13)
  expect(counter.pace()).toBe('block')
  tags.finalized = 12
  read(6n, 6n, 13)
  expect(counter.pace()).toBe('idle')
})

test('is settled once no count is out, and the uses are in blocks of that depth', () => {
  const { counter, read } = setUp()
  expect(counter.isSettled(-1)).toBe(true)
  counter.reserve(1)
  expect(counter.isSettled(100)).toBe(false)
  counter.commit(5n, PAYLOAD)
  read(6n, 6n, 10)
  expect([counter.isSettled(9), counter.isSettled(10)]).toEqual([false, true])
})

test('reports a silent count again and again, and keeps it taken', async () => {
  const { clock, counter, news } = setUp()
  counter.reserve(2)
  await clock.advance(500)
  counter.commit(5n, PAYLOAD)
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
  for (const count of [5n, 6n, 7n]) counter.commit(count, PAYLOAD)
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
  counter.commit(6n, PAYLOAD)
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
  counter.commit(5n, PAYLOAD)
  counter.commit(8n, PAYLOAD)
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
  counter.commit(6n, PAYLOAD)
  counter.release(5n)
  await clock.advance(100)
  await clock.advance(1_000)
  expect(filled).toEqual([5n, 5n])
})

test('takes a count of an earlier process, and makes the unclaimed counts below it holes', () => {
  const { counter } = setUp()
  expect(counter.adopt(7n, PAYLOAD)).toBe(true)
  expect(counter.adopt(5n, PAYLOAD)).toBe(true)
  expect(counter.adopt(4n, PAYLOAD)).toBe(false)
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

test('leaves no timer when stopped', () => {
  const { clock, counter } = setUp()
  counter.reserve(3)
  counter.release(5n)
  counter.stop()
  expect(clock.pendingTimers).toBe(0)
})

/** The records of a store after these changes. */
function recordsOf(counter: ReturnType<typeof setUp>['counter'], before: readonly Slot[] = []): Slot[] {
  const records = new Map(before.map((slot) => [slot.nonce, slot]))
  for (const slot of counter.takeChanged()) {
    if (slot.state === 'hole') records.delete(slot.nonce)
    else records.set(slot.nonce, slot)
  }
  return [...records.values()]
}

test('continues from its records: committed counts stay taken with their payloads, and holes are handed out', () => {
  const { counter } = setUp()
  counter.reserve(5)
  counter.commit(6n, PAYLOAD)
  counter.commit(9n, PAYLOAD)
  counter.commit(9n, payloadAttempt('0x34', 1))
  counter.release(7n)
  const stored = recordsOf(counter)
  const same = setUp({ stored }).counter
  expect(same.state).toEqual({ floor: 5n, cursor: 10n, holes: [7n], inFlight: 4 })
  // The reservations of a process that is gone are free: nothing was committed under them.
  const other = setUp({ stored, holder: 'another' }).counter
  expect(other.state).toEqual({ floor: 5n, cursor: 10n, holes: [5n, 7n, 8n], inFlight: 2 })
  const payloads = (of: typeof other) =>
    of.outstanding().map(({ count, attempts }) => [count, ...attempts.map(({ raw }) => raw)])
  expect(payloads(other)).toEqual([
    [6n, '0x12'],
    [9n, '0x12', '0x34'],
  ])
  expect(other.reserve(4)).toEqual([5n, 7n, 8n, 10n])
})

test('reports counts that were passed while no process followed the counter, once', () => {
  const first = setUp()
  first.counter.reserve(3)
  first.counter.commit(5n, PAYLOAD)
  first.counter.commit(6n, PAYLOAD)
  const stored = recordsOf(first.counter)
  const second = setUp({ stored, at: 6n, holder: 'another' })
  expect(second.news()).toEqual(['used 5'])
  expect(second.counter.state).toMatchObject({ floor: 6n, cursor: 7n, inFlight: 1 })
  const third = setUp({ stored: recordsOf(second.counter, stored), at: 6n, holder: 'third' })
  expect(third.news()).toEqual([])
  expect(third.counter.reserve(1)).toEqual([7n])
})

test('takes a use back that left the chain while no process followed the counter', () => {
  const first = setUp()
  first.counter.reserve(2)
  first.counter.commit(5n, PAYLOAD)
  first.counter.commit(6n, PAYLOAD)
  first.read(7n)
  const second = setUp({ stored: recordsOf(first.counter), at: 6n, holder: 'another' })
  expect(second.news()).toEqual(['reorged 6'])
  expect(second.counter.state).toEqual({ floor: 6n, cursor: 7n, holes: [], inFlight: 1 })
})

test('has no record left of counts in final blocks, and of reservations of processes that are gone', () => {
  const { counter, read, tags } = setUp()
  counter.reserve(3)
  counter.commit(5n, PAYLOAD)
  counter.commit(6n, PAYLOAD)
  read(7n, 7n, 10)
  const used = recordsOf(counter)
  expect(used.map(({ nonce, state }) => `${nonce} ${state}`)).toEqual(['5 used', '6 used', '7 reserved'])
  tags.finalized = 10
  read(7n, 7n, 14)
  const rest = recordsOf(counter, used)
  expect(rest.map(({ nonce }) => nonce)).toEqual([7])
  const other = setUp({ stored: rest, at: 7n, holder: 'another' })
  expect(recordsOf(other.counter, rest)).toEqual([])
})

test('keeps a count that the filler uses up taken after a restart, and asks the next filler for it', async () => {
  const first = setUp({ fills: true })
  first.counter.reserve(2)
  first.counter.commit(6n, PAYLOAD)
  first.counter.release(5n)
  await first.clock.advance(100)
  const second = setUp({ stored: recordsOf(first.counter), fills: true, holder: 'another' })
  expect(second.counter.reserve(1)).toEqual([7n])
  await second.clock.advance(1_000)
  expect(second.filled).toEqual([5n, 7n])
})

test('does not believe records that lie far above the counter to be its neighbours', () => {
  const far = setUp({ at: 2_000_000n })
  far.counter.reserve(1)
  far.counter.commit(2_000_000n, PAYLOAD)
  const { counter } = setUp({ stored: recordsOf(far.counter), holder: 'another' })
  expect(counter.state?.holes.length).toBeLessThanOrEqual(LIMITS.windowMax)
  expect(counter.outstanding().map(({ count }) => count)).toEqual([2_000_000n])
})
