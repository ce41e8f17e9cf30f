import { describe, expect, test } from 'vitest'
import {
  ACCOUNT,
  openLane,
  refuses,
  type Script,
  type SimLane,
  swallows,
  transfer,
} from '../../api/sender/simLane.fixture.js'

/**
 * A node that makes a block only when a transaction arrives, runs the calls of a batch concurrently, so that
 * each call sees the account as it was before, and refuses gaps. Hardhat 2.29 does so by default.
 */
function automining(lane: SimLane, lost: (sends: number) => boolean = () => false): Script {
  let request = -1
  let expected = 0
  let sends = 0
  return ({ params }, tx) => {
    if (tx === undefined) return undefined
    if (lane.requests.length !== request) {
      request = lane.requests.length
      expected = lane.chain.nextNonce(ACCOUNT)
    }
    if (tx.nonce < lane.chain.nextNonce(ACCOUNT)) return refuses('already known')
    if (tx.nonce > expected) {
      return refuses(
        `Nonce too high. Expected nonce to be ${expected} but got ${tx.nonce}. Note that transactions can't be queued when automining.`,
      )
    }
    if (lost(sends++)) return swallows(tx)
    lane.chain.submit(String(params[0]))
    lane.chain.stepFlashblock()
    lane.chain.seal()
    return swallows(tx)
  }
}

const range = (length: number, from = 1) => Array.from({ length }, (_, index) => index + from)

async function sendAll(lane: SimLane, amount: number, from = 1): Promise<void> {
  const all = range(amount, from).map(async (marker) =>
    (await lane.sender.send(transfer(marker))).wait('sealed'),
  )
  await lane.settle(Promise.all(all), 60_000)
}

async function openAutomining(lost?: (sends: number) => boolean): Promise<SimLane> {
  const lane = await openLane({ closed: true })
  lane.script = automining(lane, lost)
  await lane.settle(lane.sender.ready())
  return lane
}

describe('an endpoint that refuses gaps and makes no empty blocks', () => {
  test('lands a burst once each, in order, with few wasted sends', async () => {
    await using lane = await openAutomining()
    await sendAll(lane, 300)
    expect(lane.executed()).toEqual(range(300))
    expect(lane.sent.length).toBeLessThan(300 * 1.4)
    const { endpoints } = await lane.snapshot()
    expect(endpoints[0]?.profile).toMatchObject({ gapBudget: 0, batchInOrder: false })
  })

  test('sends one transaction per request once the behaviour is known, and waits for each answer', async () => {
    await using lane = await openAutomining()
    await sendAll(lane, 40)
    const before = lane.requests.length
    await sendAll(lane, 40, 41)
    const raw = (calls: (typeof lane.requests)[number]) =>
      calls.filter(({ method }) => method === 'eth_sendRawTransaction').length
    expect(Math.max(...lane.requests.slice(before).map(raw))).toBe(1)
  })

  test('sends next the nonce that the node names, if the node accepted and then lost it', async () => {
    await using lane = await openAutomining((sends) => sends % 7 === 3)
    await sendAll(lane, 60)
    expect(lane.executed()).toEqual(range(60))
  })
})

test('makes bytes due again by time without sealed blocks, so that a node that is down for a minute causes no stall', async () => {
  await using lane = await openLane({ closed: true })
  const mines = automining(lane)
  let away = true
  lane.script = (call, tx) => (tx && away ? refuses('internal error') : mines(call, tx))
  await lane.settle(lane.sender.ready())
  const sent = range(3).map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
  await lane.clock.advance(60_000)
  // The pauses double, so that a node that refuses is not flooded with requests.
  expect(lane.sent.length).toBeLessThan(3 * 12)
  away = false
  await lane.settle(Promise.all(sent.map(async (tx) => (await tx).wait('sealed'))), 90_000)
  expect(lane.executed()).toEqual(range(3))
})

test('re-sends accepted but lost bytes by time without blocks, and never bumps them for that', async () => {
  await using lane = await openAutomining((sends) => sends < 3)
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.settle(tx.wait('sealed'), 120_000)
  expect(lane.executed()).toEqual([1])
  expect(new Set(lane.sent.map(({ hash }) => hash)).size).toBe(1)
  expect(lane.sent.length).toBe(4)
})

test('answers cancel and close while no block comes', async () => {
  await using lane = await openLane({ closed: true, limits: { closeTimeoutMs: 5_000 } })
  lane.script = (_, tx) => tx && refuses('internal error')
  await lane.settle(lane.sender.ready())
  const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
  await lane.clock.advance(30_000)
  const cancelled = tx.cancel().then(
    () => 'answered',
    () => 'answered',
  )
  await lane.settle(lane.sender.close(), 20_000)
  expect(await lane.settle(cancelled, 1_000)).toBe('answered')
})
