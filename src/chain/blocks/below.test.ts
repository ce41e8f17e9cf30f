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
 * The walk has reached block 20, with `blockMs` between the observed blocks. From then on the endpoint that
 * is read answers `tip` for the highest block that it has shown, and another endpoint answers `elsewhere`.
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
  // How often the tip was requested by its number.
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
  /** One poll of an endpoint with this head, the given time after the last one. */
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

/** Polls below the tip, the last of them `forMs` after the first. */
async function below(lane: Awaited<ReturnType<typeof walked>>, forMs: number): Promise<void> {
  for (const afterMs of [100, 100, 100, forMs - 200]) await lane.look(TIP - 5, afterMs)
}

test('a head below the tip is believed after three periods if no endpoint shows the tip, and the blocks above leave', async () => {
  const lane = await walked({ blockMs: 4_000, elsewhere: NULL })
  await below(lane, 11_999)
  expect([lane.resets, lane.asked()]).toEqual([[], 0])
  await lane.look(TIP - 5, 1)
  expect(lane.resets).toEqual([gone])
  expect(lane.tracker.head?.number).toBe(TIP - 5)
  lane.tracker.stop()
})

test('three polls are not enough, however long they took', async () => {
  const lane = await walked({ blockMs: 4_000 })
  for (let looks = 0; looks < 3; looks++) await lane.look(TIP - 5, 20_000)
  expect([lane.resets, lane.asked()]).toEqual([[], 0])
  await lane.look(TIP - 5, 1)
  expect(lane.resets).toEqual([gone])
  lane.tracker.stop()
})

test('another block at the height of the tip shows a chain as long as before: one block left, and another came', async () => {
  const fork = `0x${'f'.repeat(64)}` as const
  const tip = { result: rawBlock({ number: `0x${TIP.toString(16)}`, hash: fork, parentHash: hash(TIP - 1) }) }
  const lane = await walked({ blockMs: 4_000, tip })
  await below(lane, 12_000)
  expect(lane.resets).toEqual([])
  expect(lane.tracker.head).toMatchObject({ number: TIP, hash: fork })
  lane.tracker.stop()
})

test('three periods of fast blocks are not enough: replicas lag for seconds', async () => {
  const lane = await walked({ blockMs: 200 })
  await below(lane, 2_999)
  expect([lane.resets, lane.asked()]).toEqual([[], 0])
  await lane.look(TIP - 5, 1)
  expect(lane.resets).toEqual([gone])
  lane.tracker.stop()
})

test('a period is at most 12 s', async () => {
  const lane = await walked({ blockMs: 60_000 })
  await below(lane, 35_999)
  expect(lane.resets).toEqual([])
  await lane.look(TIP - 5, 1)
  expect(lane.resets).toEqual([gone])
  lane.tracker.stop()
})

test('the earlier tip or a later head restarts the time', async () => {
  for (const head of [TIP, TIP + 1]) {
    const lane = await walked({ blockMs: 4_000 })
    await below(lane, 6_000)
    await lane.look(head)
    await below(lane, 11_900)
    expect(lane.resets).toEqual([])
    // The observed time between blocks is longer with a later one.
    await lane.look(TIP - 5, head === TIP ? 100 : 10_000)
    expect(lane.resets).toMatchObject([{ tip: head, head: TIP - 5 }])
    lane.tracker.stop()
  }
})

test('the reader only lags while any endpoint shows the tip, or the reader has no answer: the check is repeated later', async () => {
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
