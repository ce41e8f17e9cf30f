import { describe, expect, test } from 'vitest'
import { openSeveral, type SimEndpoint } from '../../api/sender/severalEndpoints.fixture.js'
import { openLane, type Script, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'

const FIRST = 7

/** The endpoint's counts at the tag are too high by this number, until a time. */
function ahead(lane: SimLane, tag: 'latest' | 'pending', by: number, forMs: number): Script {
  const untilMs = lane.clock.now() + forMs
  return ({ method, params }) => {
    if (method !== 'eth_getTransactionCount' || params[1] !== tag) return undefined
    if (lane.clock.now() >= untilMs) return undefined
    return { ok: true, result: `0x${(FIRST + lane.executed().length + by).toString(16)}` }
  }
}

async function openAhead(by: number, forMs: number, tag: 'latest' | 'pending' = 'pending'): Promise<SimLane> {
  const lane = await openLane({ nonce: FIRST, closed: true })
  lane.chain.start()
  lane.script = ahead(lane, tag, by, forMs)
  return lane
}

/** All transactions that were sent to one of the endpoints. */
const noncesOf = (endpoints: readonly SimEndpoint[]) =>
  endpoints.flatMap(({ raws }) => raws.map(({ nonce }) => nonce))

const markers = Array.from({ length: 12 }, (_, index) => index + 1)

async function payTwelve(lane: SimLane): Promise<void> {
  const sent = markers.map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
  const all = Promise.all(sent.map(async (tx) => (await tx).wait('sealed')))
  await lane.settle(all, 90_000)
}

describe('`pending` ahead at the start, for a time', () => {
  test.each([
    ['by 5 for 4 s', 5, 4_000],
    ['by 100 for 15 s', 100, 15_000],
    ['by 1,000,000 for 15 s', 1_000_000, 15_000],
    ['by 1,000,000,001 for 15 s', 1_000_000_001, 15_000],
  ])(
    '%s: lands every payment at the nonces that were really free, and pays for no no-op',
    async (_, by, forMs) => {
      await using lane = await openAhead(by, forMs)
      await payTwelve(lane)
      expect(lane.executed()).toEqual(markers)
      expect(await lane.snapshot()).toMatchObject({ floor: 19, cursor: 19, holes: [], holds: [] })
    },
  )

  test('more than seedSpanMax: the hold describes the reading, and snapshot() answers at once', async () => {
    await using lane = await openAhead(1_000_000_001, 40_000)
    await lane.settle(lane.sender.ready())
    const { holds, holdDetails, cursor } = await lane.settle(lane.sender.snapshot(), 1_000)
    expect(holds).toEqual(['seeding'])
    expect(holdDetails?.seeding).toContain('7 at `latest` and 1000000008 at `pending`')
    expect(cursor).toBe(7)
    await lane.until(() => lane.events('released').some(({ reason }) => reason === 'seeding'))
  })

  test('resume() accepts it, without allocations in proportion to it', async () => {
    await using lane = await openAhead(1_000_000_001, 40_000)
    await lane.settle(lane.sender.ready())
    lane.sender.resume()
    expect(await lane.snapshot()).toMatchObject({ cursor: FIRST + 1_000_000_001, holds: [] })
    await lane.clock.advance(30_000)
    const { cursor, holds } = await lane.snapshot()
    // Accepted nonces are filled from the bottom, a block at a time, until a reading refutes them.
    expect(cursor).toBeLessThan(FIRST + 10)
    expect(holds).toEqual([])
  })
})

describe('`pending` ahead by more than an endpoint pools above a gap, for long after the start', () => {
  const TIMES_MS = [2_000, 5_000, 9_900, 9_990, 10_000, 10_010, 10_100, 11_000, 15_000]
  test.each(TIMES_MS)(
    'a payment at %i ms lands at the nonce that was free, and nothing else is sent',
    async (atMs) => {
      await using lane = await openLane({ nonce: FIRST, closed: true, limits: { coldStartMaxMs: 1_000 } })
      lane.chain.start()
      lane.script = ahead(lane, 'pending', 100, 10_000)
      await lane.settle(lane.sender.ready())
      await lane.clock.advance(atMs)
      const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }), 60_000)
      await lane.settle(tx.wait('sealed'), 60_000)
      expect([lane.executed(), lane.sent.map(({ nonce }) => nonce)]).toEqual([[1], [FIRST]])
    },
  )
})

describe('nonces of an assumed other sender, as long as the count shows them', () => {
  async function openSupposed(): Promise<SimLane> {
    const lane = await openLane({ nonce: FIRST, closed: true, limits: { coldStartMaxMs: 1_000 } })
    lane.chain.start()
    lane.script = ahead(lane, 'pending', 3, 600_000)
    await lane.settle(lane.sender.ready())
    return lane
  }

  test('an idle lane pays nothing for them', async () => {
    await using lane = await openSupposed()
    await lane.clock.advance(300_000)
    expect(lane.sent).toEqual([])
  })

  test('transactions behind them land once their time is over', async () => {
    await using lane = await openSupposed()
    await lane.clock.advance(100_000)
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }), 60_000)
    await lane.settle(tx.wait('sealed'), 120_000)
    expect(lane.executed()).toEqual(['noop', 'noop', 'noop', 1])
  })
})

describe('`latest` ahead of `pending` at the start, for a time', () => {
  test.each([
    ['by 5', 5],
    ['by 100', 100],
    ['by 1,000,000,001', 1_000_000_001],
  ])('%s for 10 s: believes neither, and lands every payment at its nonce', async (_, by) => {
    await using lane = await openAhead(by, 10_000, 'latest')
    await payTwelve(lane)
    expect(lane.executed()).toEqual(markers)
    expect(await lane.snapshot()).toMatchObject({ floor: 19, cursor: 19, holes: [], holds: [] })
  })
})

describe('every count wrong at the start, for a time, at one of two endpoints', () => {
  test.each([
    ['-5 for 4 s', -5],
    ['5 for 4 s', 5],
    ['100 for 4 s', 100],
    ['1,000,000 for 4 s', 1_000_000],
  ])(
    'by %s: begins at the count on which both agree, and lands every payment at its nonce',
    async (_, by) => {
      await using several = await openSeveral(['both', 'both'], { nonce: FIRST, closed: true })
      const { lane, sender, endpoints } = several
      const [reader] = endpoints
      const untilMs = lane.clock.now() + 4_000
      if (reader)
        reader.script = ({ method }) =>
          method === 'eth_getTransactionCount' && lane.clock.now() < untilMs
            ? { ok: true, result: `0x${(FIRST + by).toString(16)}` }
            : undefined
      const txs = markers.map((marker) => sender.send(transfer(marker), { until: 'queued' }))
      await lane.clock.advance(3_500)
      const { holdDetails } = await lane.settle(sender.snapshot())
      expect(holdDetails?.seeding).toContain(`${FIRST + by} at \`latest\``)
      expect(holdDetails?.seeding).toContain(`Another one counts ${FIRST}`)
      await lane.settle(Promise.all(txs.map(async (tx) => (await tx).wait('sealed'))), 60_000)
      expect(lane.executed()).toEqual(markers)
      expect(noncesOf(endpoints).filter((nonce) => nonce < FIRST)).toEqual([])
      expect(await lane.settle(sender.snapshot())).toMatchObject({
        floor: 19,
        cursor: 19,
        holes: [],
        holds: [],
      })
    },
  )

  test('contradicts an endpoint that shows an unused account', async () => {
    await using several = await openSeveral(['both', 'both'], { nonce: FIRST, closed: true })
    const { lane, sender, endpoints } = several
    const untilMs = lane.clock.now() + 4_000
    if (endpoints[0])
      endpoints[0].script = ({ method }) =>
        method === 'eth_getTransactionCount' && lane.clock.now() < untilMs
          ? { ok: true, result: '0x0' }
          : undefined
    const tx = await lane.settle(sender.send(transfer(1), { until: 'queued' }), 60_000)
    await lane.settle(tx.wait('sealed'), 60_000)
    expect(noncesOf(endpoints)).toEqual([FIRST])
  })

  test('delays the start by at most coldStartMaxMs if one endpoint always counts less', async () => {
    await using several = await openSeveral(['both', 'both'], { nonce: FIRST, closed: true })
    const { lane, sender, endpoints } = several
    const [, other] = endpoints
    if (other)
      other.script = ({ method }) =>
        method === 'eth_getTransactionCount' ? { ok: true, result: '0x2' } : undefined
    const startMs = lane.clock.now()
    const tx = await lane.settle(sender.send(transfer(1)), 40_000)
    expect(lane.clock.now() - startMs).toBeLessThan(35_000)
    expect(tx.nonce).toBe(FIRST)
  })
})

test('holds the start and says so if both counts are ahead by a million and the count at the block is correct', async () => {
  await using lane = await openLane({ nonce: FIRST, closed: true })
  let isAhead = true
  lane.script = ({ method, params }) =>
    isAhead && method === 'eth_getTransactionCount' && (params[1] === 'latest' || params[1] === 'pending')
      ? { ok: true, result: `0x${(FIRST + 1_000_000).toString(16)}` }
      : undefined
  lane.chain.start()
  const sent = lane.sender.send(transfer(1))
  await lane.blocks(5)
  const { holds, holdDetails } = await lane.snapshot()
  expect(holds).toEqual(['seeding'])
  expect(holdDetails?.seeding).toMatch(/It counts 7 where it is asked for block \d+ by its hash\./)
  isAhead = false
  expect((await lane.settle(sent)).nonce).toBe(FIRST)
})

describe("coldStart: 'settle'", () => {
  test('snapshot() answers with the reason during the wait, and nothing is sent', async () => {
    await using lane = await openLane({ nonce: FIRST, closed: true })
    const tx = lane.sender.send(transfer(1), { until: 'queued' })
    const { holds, holdDetails } = await lane.settle(lane.sender.snapshot(), 1_000)
    expect(holds).toEqual(['seeding'])
    expect(holdDetails?.seeding).toContain('7 at `latest`')
    await lane.settle(tx, 1_000)
    expect(lane.sent).toEqual([])
    lane.chain.start()
    await lane.settle((await tx).wait('sealed'))
  })

  test('ends after 3 s on a chain that makes no block', async () => {
    await using lane = await openLane({ nonce: FIRST, closed: true })
    const startMs = lane.clock.now()
    await lane.settle(lane.sender.ready(), 5_000)
    expect(lane.clock.now() - startMs).toBeGreaterThanOrEqual(3_000)
    lane.chain.start()
  })

  test('ends after coldStartMaxMs if the counts never settle', async () => {
    await using lane = await openLane({ nonce: FIRST, closed: true, limits: { coldStartMaxMs: 8_000 } })
    let count = 8
    lane.script = ({ method, params }) =>
      method === 'eth_getTransactionCount' && params[1] === 'pending'
        ? { ok: true, result: `0x${(8 + (count++ % 8)).toString(16)}` }
        : undefined
    lane.chain.start()
    const startMs = lane.clock.now()
    await lane.settle(lane.sender.ready(), 10_000)
    expect(lane.clock.now() - startMs).toBeGreaterThanOrEqual(8_000)
  })

  test('finds a transaction of an earlier process in the pool before anything is sent', async () => {
    await using lane = await openLane({ nonce: FIRST, closed: true })
    lane.chain.start()
    lane.foreign(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(tx.nonce).toBe(8)
    expect(lane.events('foreign')).toEqual([])
  })
})
