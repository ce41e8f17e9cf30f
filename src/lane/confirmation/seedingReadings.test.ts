import { describe, expect, test, vi } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createBook } from '../../ledger/book.js'
import { HOLES_MAX } from '../../ledger/nonceRange.js'
import type { LaneContext } from '../engine/core.js'
import { createSeeding, type Seed } from './seeding.js'

const SPAN_MAX = 100
const BLOCK_MS = 2_000

/** The effects of readings at the start of a lane whose account stands at 7. */
function seeded(over: Partial<Seed> = {}, reports: 'mempool' | 'absent' = 'mempool') {
  const clock = createVirtualClock()
  let blocks = 0
  const book = createBook({ floor: 7 })
  const holds = new Map<string, string | undefined>()
  const context = {
    lane: {
      key: { address: '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd' },
      book,
      holds: {
        add: (reason: string, detail?: string) => void holds.set(reason, detail),
        lift: (reason: string) => void holds.delete(reason),
        has: (reason: string) => holds.has(reason),
      },
    },
    endpointPool: {
      reader: { profile: { current: () => ({ pending: reports }) } },
      others: () => [],
      doubtReader: () => undefined,
      tracker: { hashAt: () => undefined },
    },
    clock: { ...clock, now: () => clock.now() + blocks * BLOCK_MS },
    limits: { seedSpanMax: SPAN_MAX, coldStartMaxMs: 8_000 },
  }
  const seed: Seed = {
    latest: 7,
    pending: 7,
    head: 10,
    history: { block: -1, nonce: 0 },
    isUnsettled: false,
    isDisbelieved: false,
    storeCursor: undefined,
    storeDisputed: false,
    storeMadeAt: undefined,
    ...over,
  }
  // As the lane does with its seed.
  if (!seed.isUnsettled && !seed.isDisbelieved) book.suppose(seed.pending)
  const reported = { freed: vi.fn(), gaps: vi.fn() }
  const seeding = createSeeding(context as unknown as LaneContext, seed, reported)
  /** A reading at the next block. */
  const read = (pending: number | undefined, latest = 7) =>
    seeding.count({ latest, pending }, seed.head + ++blocks)
  return { book, clock, holds, seeding, reported, read }
}

describe('while the counts have to settle', () => {
  test('ignores an answer without `pending`, unless the endpoint has no `pending`', () => {
    const lost = seeded({ isUnsettled: true })
    for (let reading = 0; reading < 3; reading++) expect(lost.read(undefined)).toBe(true)
    expect([...lost.holds.keys()]).toEqual(['seeding'])
    expect(lost.seeding.wantsPending && lost.seeding.isUrgent).toBe(true)
    const without = seeded({ isUnsettled: true }, 'absent')
    expect(without.read(undefined)).toBe(true)
    expect(without.holds.size).toBe(0)
    expect(without.read(undefined)).toBe(false)
  })

  test('the hold shows the newest reading', () => {
    const { holds, read } = seeded({ isUnsettled: true })
    read(9)
    expect(holds.get('seeding')).toContain('At block 11 the endpoint counts 7 at `latest` and 9 at `pending`')
  })

  test('the account starts at the count on which two readings agree, below the first reading or above it', () => {
    for (const latest of [5, 9]) {
      const { book, read, reported } = seeded({ isUnsettled: true })
      for (let reading = 0; reading < 2; reading++) read(latest, latest)
      expect([book.base, book.floor, book.cursor, book.coveredTo]).toEqual([latest, latest, latest, latest])
      expect([reported.freed.mock.calls.length, reported.gaps.mock.calls.length]).toEqual([1, 1])
    }
  })

  test('the settled count covers nonces', () => {
    const { book, read } = seeded({ isUnsettled: true })
    book.counted(12)
    book.suppose(12)
    read(7)
    book.apply(7, { type: 'reserve', claim: 'a', token: 1 })
    expect([book.cursor, book.coveredTo]).toEqual([8, 7])
  })

  test('ends the wait with the first reading after coldStartMaxMs, or when the lane is closed, and notifies the waiters', async () => {
    const late = seeded({ isUnsettled: true })
    const settled = vi.fn()
    void late.seeding.settled().then(settled)
    await late.clock.advance(7_999)
    late.read(8)
    await late.clock.advance(1)
    // An earlier reading may be refuted meanwhile, by an endpoint that is silent now.
    expect([settled.mock.calls.length, late.holds.size]).toEqual([0, 1])
    late.read(9)
    await late.clock.advance(0)
    expect([settled.mock.calls.length, late.holds.size]).toEqual([1, 0])
    expect(late.book.supposedTo).toBe(9)
    const closed = seeded({ isUnsettled: true })
    void closed.seeding.settled().then(settled)
    closed.seeding.stop()
    await closed.clock.advance(8_000)
    expect(settled).toHaveBeenCalledTimes(2)
    // Nothing is started any more.
    expect([closed.reported.freed.mock.calls.length, closed.holds.size]).toEqual([0, 1])
  })

  test('after coldStartMaxMs accepts a reading without `pending`, or with less at `pending` than at `latest`', async () => {
    for (const [pending, latest] of [
      [undefined, 7],
      [6, 7],
    ] as const) {
      const { book, clock, holds, read } = seeded({ isUnsettled: true })
      await clock.advance(7_999)
      read(pending, latest)
      expect(holds.size).toBe(1)
      await clock.advance(1)
      read(pending, latest)
      // The lower count leaves no nonce empty, and evidence raises it.
      expect([book.base, book.supposedTo, holds.size]).toEqual([pending ?? latest, pending ?? latest, 0])
      // After that, such readings are ignored again.
      expect(read(pending, 9)).toBe(false)
      expect(book.base).toBe(pending ?? latest)
    }
  })

  test('resume() accepts the newest reading', () => {
    const { book, holds, read, seeding } = seeded({ isUnsettled: true })
    read(9)
    seeding.accept()
    expect([book.base, book.supposedTo, holds.size]).toEqual([7, 9, 0])
  })
})

describe('`pending` far above `latest`', () => {
  test('is believed up to seedSpanMax apart, and not above', async () => {
    for (const [pending, isBelieved] of [
      [7 + SPAN_MAX, true],
      [8 + SPAN_MAX, false],
    ] as const) {
      const { book, clock, holds, read, seeding } = seeded({ isUnsettled: true })
      await clock.advance(8_000)
      read(pending)
      expect([book.supposedTo, holds.size]).toEqual(isBelieved ? [pending, 0] : [7, 1])
      expect(seeding.isDoubted).toBe(true)
      seeding.accept()
      expect([book.supposedTo, holds.size]).toEqual([pending, 0])
    }
  })

  test('is believed once every recent reading is within the span, and the lowest of them sets the hypothesis', () => {
    const { book, holds, read, seeding } = seeded({ pending: 500, isDisbelieved: true })
    read(500)
    expect(holds.get('seeding')).toContain('500 at `pending`, more than 100 above nonce 7')
    read(50)
    expect(holds.get('seeding')).toContain('50 at `pending`, and counted more than 100 above nonce 7 before')
    read(8 + SPAN_MAX)
    expect(holds.size).toBe(1)
    read(7 + SPAN_MAX)
    expect(holds.size).toBe(1)
    read(60)
    expect([holds.size, book.supposedTo, seeding.isDoubted]).toEqual([0, 60, true])
  })

  test('covers no nonce until it is believed', () => {
    const { read, seeding } = seeded({ pending: 500, isDisbelieved: true })
    read(500)
    read(500)
    expect(seeding.covers(8)).toBe(false)
    expect(seeding.wantsPending).toBe(true)
  })

  test('is accepted by resume() up to the newest reading', () => {
    const { book, holds, read, seeding, reported } = seeded({ pending: 500, isDisbelieved: true })
    read(400)
    seeding.accept()
    expect([book.supposedTo, holds.size, reported.freed.mock.calls.length]).toEqual([400, 0, 1])
    seeding.accept()
    expect(reported.freed).toHaveBeenCalledTimes(1)
  })
})

describe('a first reading with less at `pending` than at `latest`', () => {
  test.each([
    ['held because of a count above seedSpanMax', { isDisbelieved: true }],
    ['while the counts have to settle', { isUnsettled: true }],
  ])('%s: resume() believes the lower count', (_, over) => {
    const { book, holds, seeding } = seeded({ latest: 1_000_000_007, pending: 8, ...over })
    expect(holds.get('seeding')).toContain('counts 1000000007 at `latest` and 8 at `pending`')
    seeding.accept()
    expect([book.cursor, book.unfinished, holds.size]).toEqual([8, expect.toBeOneOf([0, 1]), 0])
  })
})

describe('the hypothesis', () => {
  test('shrinks to the higher of two readings, and the lower one covers nonces', () => {
    const { book, read, seeding } = seeded({ pending: 20 })
    read(15)
    expect([book.supposedTo, seeding.isOpen]).toEqual([20, true])
    read(12)
    expect(book.supposedTo).toBe(15)
    expect([seeding.covers(11), seeding.covers(12)]).toEqual([true, false])
    read(15)
    expect(book.supposedTo).toBe(15)
  })

  test('never grows, because a later higher count belongs to later sends', () => {
    const { book, read } = seeded({ pending: 20 })
    read(15)
    read(25)
    expect(book.supposedTo).toBe(20)
  })

  test('one lower reading removes the cover at once, so that no no-op is paid for a nonce that may be unused', () => {
    const { read, seeding } = seeded({ pending: 20 })
    read(15)
    read(15)
    expect(seeding.covers(14)).toBe(true)
    seeding.count({ latest: 7, pending: 9 }, 12)
    expect([seeding.covers(9), seeding.covers(8)]).toEqual([false, true])
  })

  test('a reading from before the start says nothing about later transactions', () => {
    const { book, read } = seeded({ pending: 20 })
    read(6, 6)
    read(6, 6)
    expect(book.supposedTo).toBe(20)
    read(7, 7)
    read(7, 7)
    expect(book.supposedTo).toBe(7)
  })

  test('is not read any more once it is used up', () => {
    const { book, read, seeding } = seeded({ pending: 9 })
    expect([seeding.wantsPending, seeding.isDoubted]).toEqual([true, true])
    book.raise(9)
    expect([seeding.isOpen, seeding.wantsPending, seeding.isDoubted]).toEqual([false, false, false])
    read(9, 9)
  })

  test('is kept below a nonce that was signed too far above it, and the hold says so', () => {
    const top = 8 + HOLES_MAX
    const { book, holds, read, seeding } = seeded({ pending: top })
    book.apply(top, { type: 'handOut' })
    read(7)
    read(7)
    expect([book.supposedTo, seeding.isDoubted]).toEqual([top, true])
    expect(holds.get('seeding')).toContain(`sent at nonces up to ${top}, too far above`)
  })
})

describe('a store that may be behind the chain', () => {
  test('holds the lane with the contradiction, and reads `pending` until that is over', () => {
    const { holds, seeding } = seeded({ storeCursor: 9, storeDisputed: true })
    expect(holds.get('seeding')).toContain('the store knows of 9')
    expect(seeding.wantsPending).toBe(true)
  })

  test('withholds no-ops while endpoints disagree, because they would look like unknown transactions', () => {
    const { read, seeding } = seeded({ pending: 20, storeCursor: 9, storeDisputed: true })
    read(20)
    read(20)
    expect(seeding.covers(10)).toBe(false)
  })

  test('is checked once a disbelieved count is within the span', async () => {
    for (const [count, reason] of [
      [50, 'storeBehindChain'],
      [9, undefined],
    ] as const) {
      const { clock, holds, read } = seeded({ pending: 500, isDisbelieved: true, storeCursor: 9 })
      read(count)
      read(count)
      await clock.advance(1)
      expect([...holds.keys()]).toEqual(reason === undefined ? [] : [reason])
    }
  })
})
