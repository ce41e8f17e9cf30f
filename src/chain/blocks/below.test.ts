import { expect, test } from 'vitest'
import { createStubPort, rawBlock, type StubAnswer } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createTracker } from './blockPoller.js'

const TIP = 20
const hash = (number: number) => `0x${number.toString(16).padStart(64, '0')}` as const
const blockAt = (number: number): StubAnswer => ({
  result: rawBlock({ number: `0x${number.toString(16)}`, hash: hash(number), parentHash: hash(number - 1) }),
})
const NULL: StubAnswer = { result: null }
const SILENT: StubAnswer = { failure: { kind: 'timeout', message: 'no answer' } }

/**
 * The walk has come to block 20, blocks `blockMs` apart, as far as that was seen. From then on the endpoint that is read
 * has `tip` to say of the highest block that it has shown, and another endpoint `elsewhere`.
 */
async function walked({
  blockMs,
  tip = NULL,
  elsewhere,
}: {
  blockMs?: number
  tip?: StubAnswer
  elsewhere?: StubAnswer
}) {
  const clock = createVirtualClock()
  let latest = TIP
  let highest = TIP
  // How often the tip was looked for under its number.
  let tipAsked = 0
  const port = createStubPort((calls) =>
    calls.map(({ params: [selector] }) => {
      if (selector === 'latest') return blockAt(latest)
      if (Number(selector) !== highest) return blockAt(Number(selector))
      tipAsked++
      return tip
    }),
  )
  const other = elsewhere && createStubPort((calls) => calls.map(() => elsewhere))
  const resets: object[] = []
  const tracker = createTracker({
    port: () => port,
    ...(other ? { others: () => [other] } : {}),
    onReset: (reset) => void resets.push(reset),
    clock,
    cadenceMs: () => 1,
    pending: () => ({ block: false, count: false, paced: false }),
    timeoutMs: 1_000,
    horizon: 64,
  })
  /** One look at an endpoint with this head, so long after the last one. */
  async function look(head: number, afterMs = 100): Promise<void> {
    await clock.advance(afterMs - 1)
    latest = head
    highest = Math.max(highest, head)
    void tracker.nextTick()
    await clock.advance(1)
  }
  await look(TIP - 1)
  await look(TIP, blockMs)
  expect(tracker.head?.number).toBe(TIP)
  return { tracker, look, resets, asked: () => tipAsked }
}

const gone = { tip: TIP, head: TIP - 5, left: 2 }

/** Looks below the tip, the last of them `forMs` after the first. */
async function below(lane: Awaited<ReturnType<typeof walked>>, forMs: number): Promise<void> {
  for (const afterMs of [100, 100, 100, forMs - 200]) await lane.look(TIP - 5, afterMs)
}

test('a head below the tip is believed after three periods, where no endpoint shows the tip: what stood above it left', async () => {
  const lane = await walked({ blockMs: 4_000, elsewhere: NULL })
  await below(lane, 11_999)
  expect([lane.resets, lane.asked()]).toEqual([[], 0])
  await lane.look(TIP - 5, 1)
  expect(lane.resets).toEqual([gone])
  expect(lane.tracker.head?.number).toBe(TIP - 5)
  lane.tracker.stop()
})

test('three looks are not enough, however long they took', async () => {
  const lane = await walked({ blockMs: 4_000 })
  for (let looks = 0; looks < 3; looks++) await lane.look(TIP - 5, 20_000)
  expect([lane.resets, lane.asked()]).toEqual([[], 0])
  await lane.look(TIP - 5, 1)
  expect(lane.resets).toEqual([gone])
  lane.tracker.stop()
})

test('another block in the place of the tip shows a chain as long as before: one block left, and another one came', async () => {
  const fork = `0x${'f'.repeat(64)}` as const
  const tip = { result: rawBlock({ number: `0x${TIP.toString(16)}`, hash: fork, parentHash: hash(TIP - 1) }) }
  const lane = await walked({ blockMs: 4_000, tip })
  await below(lane, 12_000)
  expect(lane.resets).toEqual([])
  expect(lane.tracker.head).toMatchObject({ number: TIP, hash: fork })
  lane.tracker.stop()
})

test('a period is 12 s at most', async () => {
  const lane = await walked({ blockMs: 60_000 })
  await below(lane, 35_999)
  expect(lane.resets).toEqual([])
  await lane.look(TIP - 5, 1)
  expect(lane.resets).toEqual([gone])
  lane.tracker.stop()
})

test('the head that was the tip before, or a later one, begins the time anew', async () => {
  for (const head of [TIP, TIP + 1]) {
    const lane = await walked({ blockMs: 4_000 })
    await below(lane, 6_000)
    await lane.look(head)
    await below(lane, 11_900)
    expect(lane.resets).toEqual([])
    // The time between blocks, as it was seen, is longer with a later one.
    await lane.look(TIP - 5, head === TIP ? 100 : 10_000)
    expect(lane.resets).toMatchObject([{ tip: head, head: TIP - 5 }])
    lane.tracker.stop()
  }
})

test('while any endpoint shows the tip, or the one that is read does not say, it only lags: it is looked for again after as long', async () => {
  for (const parts of [
    { elsewhere: blockAt(TIP) },
    { tip: blockAt(TIP) },
    { tip: SILENT, elsewhere: NULL },
  ]) {
    const lane = await walked({ blockMs: 4_000, ...parts })
    await below(lane, 12_000)
    expect([lane.resets, lane.asked()]).toEqual([[], 1])
    await below(lane, 11_900)
    expect(lane.asked()).toBe(1)
    await lane.look(TIP - 5)
    expect([lane.resets, lane.asked()]).toEqual([[], 2])
    expect(lane.tracker.head?.number).toBe(TIP)
    lane.tracker.stop()
  }
})
