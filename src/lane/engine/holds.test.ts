import { describe, expect, test } from 'vitest'
import {
  ACCOUNT,
  nameOf,
  onSend,
  openLane,
  refuses,
  type SimLane,
  swallow,
  swallows,
  TIMES_OUT,
  transfer,
} from '../../api/sender/simLane.fixture.js'

// Maximum cost of one transfer of the fixture: 1 wei and 21,000 gas at twice the base fee and the tip.
const COST_WEI = 21_000n * 2_100_000n + 1n

const holds = async (lane: SimLane) => (await lane.snapshot()).holds
const queue = (lane: SimLane, marker: number) =>
  lane.settle(lane.sender.send(transfer(marker), { until: 'queued' }))

async function heldUntilResume(lane: SimLane) {
  await queue(lane, 1)
  await lane.blocks(1)
  expect(lane.sent).toEqual([])
  lane.sender.resume()
  await lane.settle(lane.sender.drain())
  expect(lane.executed()).toEqual([1])
}

describe('paused', () => {
  test('reserves no nonce until resume, while transactions in flight continue and are repaired', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(transfer(1)))
    lane.sender.pause()
    const second = await queue(lane, 2)
    lane.script = undefined
    await lane.settle(first.wait())
    await lane.blocks(2)
    expect(lane.executed()).toEqual([1])
    expect(await lane.snapshot()).toMatchObject({ holds: ['paused'], queued: 1, cursor: 1 })
    lane.sender.resume()
    await lane.settle(second.wait())
    expect(lane.events('held')).toEqual([{ reason: 'paused' }])
    expect(lane.events('released')).toEqual([{ reason: 'paused' }])
  })

  test('opens paused if it was paused before', async () => {
    await using lane = await openLane({ closed: true })
    lane.sender.pause()
    lane.chain.start()
    await heldUntilResume(lane)
  })

  test('opens paused if it was paused before, even after a failed first opening', async () => {
    await using lane = await openLane({ closed: true })
    lane.chain.start()
    lane.script = () => TIMES_OUT
    lane.sender.pause()
    await lane.rejection(lane.sender.ready())
    lane.script = undefined
    await heldUntilResume(lane)
  })

  test('P3: fills a gap under a hold as well', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) =>
      nameOf(tx) === 1 ? refuses('invalid transaction v, r, s values') : undefined,
    )
    const first = lane.rejection(lane.sender.send(transfer(1)))
    const second = lane.sender.send(transfer(2))
    await first
    lane.sender.pause()
    await lane.settle((await lane.settle(second)).wait())
    expect(lane.executed()).toEqual(['noop', 2])
  })
})

describe('starved and the budget of funds', () => {
  test('treats a shortage as backpressure, not as a hold, while own transactions are in flight', async () => {
    await using lane = await openLane({ balanceWei: (COST_WEI * 5n) / 2n })
    const all = [1, 2, 3].map((marker) => lane.sender.send(transfer(marker)))
    await lane.settle(Promise.all(all))
    await lane.settle((await all[2])?.wait() ?? Promise.reject())
    expect(lane.events('held')).toEqual([])
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('holds the lane for a transaction above the balance only once nothing is in flight', async () => {
    await using lane = await openLane({ balanceWei: COST_WEI * 2n })
    lane.script = swallow(1)
    await lane.settle(lane.sender.send(transfer(1)))
    const dear = { ...transfer(2), value: COST_WEI * 5n }
    const tx = await lane.settle(lane.sender.send(dear, { until: 'queued' }))
    await lane.blocks(3)
    expect(await holds(lane)).toEqual([])
    lane.script = undefined
    await lane.until(() => lane.events('held').length === 1)
    expect(lane.executed()).toEqual([1])
    lane.chain.adjust({ address: ACCOUNT, balanceWei: COST_WEI * 10n })
    await lane.settle(tx.wait())
  })

  test("starved: 'wait' holds until the balance suffices", async () => {
    await using lane = await openLane({ balanceWei: COST_WEI / 2n })
    const tx = await queue(lane, 1)
    await lane.until(() => lane.events('held').length === 1)
    expect(await holds(lane)).toEqual(['starved'])
    await lane.blocks(3)
    expect(lane.sent).toEqual([])
    lane.chain.adjust({ address: ACCOUNT, balanceWei: COST_WEI })
    await lane.settle(tx.wait())
    expect(await holds(lane)).toEqual([])
  })

  test('continues with affordable transactions after an unaffordable one is cancelled', async () => {
    await using lane = await openLane({ balanceWei: COST_WEI * 3n })
    const dear = { ...transfer(1), value: COST_WEI * 5n }
    const tx = await lane.settle(lane.sender.send(dear, { until: 'queued' }))
    await lane.until(() => lane.events('held').length === 1)
    const next = await queue(lane, 2)
    await lane.settle(tx.cancel())
    await lane.settle(next.wait())
    expect(await holds(lane)).toEqual([])
    expect(lane.executed()).toEqual([2])
  })

  test("starved: 'fail' ends waiting transactions: STARVED, notExecuted, no nonce used", async () => {
    await using lane = await openLane({ balanceWei: COST_WEI / 2n, starved: 'fail' })
    const errors = await Promise.all(
      [1, 2].map((marker) => lane.rejection(lane.sender.send(transfer(marker)))),
    )
    for (const error of errors) expect(error).toMatchObject({ code: 'STARVED', fate: 'notExecuted' })
    expect(await lane.snapshot()).toMatchObject({ cursor: 0, queued: 0 })
    lane.chain.adjust({ address: ACCOUNT, balanceWei: COST_WEI })
    await lane.blocks(1)
    await lane.settle((await lane.settle(lane.sender.send(transfer(3)))).wait())
  })

  test("starved: 'fail' ends a transaction that the account cannot pay, and not the ones behind it", async () => {
    await using lane = await openLane({ balanceWei: COST_WEI * 3n, starved: 'fail' })
    const dear = lane.rejection(lane.sender.send({ ...transfer(1), value: COST_WEI * 5n }))
    const rest = await lane.settle(Promise.all([2, 3].map((marker) => lane.sender.send(transfer(marker)))))
    expect(await dear).toMatchObject({ code: 'STARVED', fate: 'notExecuted' })
    await lane.settle(Promise.all(rest.map((tx) => tx.wait())))
    expect(lane.executed()).toEqual([2, 3])
  })

  test("starved: 'fail' does not end transactions that wait for their turn, because the balance may change with those in flight", async () => {
    await using lane = await openLane({ balanceWei: (COST_WEI * 5n) / 2n, starved: 'fail' })
    const all = await lane.settle(Promise.all([1, 2, 3].map((marker) => lane.sender.send(transfer(marker)))))
    await lane.settle(all[2]?.wait() ?? Promise.reject())
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('does not poll the balance while funds suffice', async () => {
    await using lane = await openLane()
    const before = balanceReads(lane)
    await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait('safe'))
    expect(balanceReads(lane)).toBe(before)
  })

  const balanceReads = (lane: SimLane) =>
    lane.requests.flat().filter(({ method }) => method === 'eth_getBalance').length
})

describe('blocked', () => {
  test('blocks for a no-op above the lane ceiling; lifted when one is accepted or the nonce is used', async () => {
    await using lane = await openLane({ fees: { ceiling: { maxFeePerGas: 2_300_000n } } })
    lane.script = onSend((tx) =>
      nameOf(tx) === 1 ? refuses('exceeds block gas limit') : refuses('transaction underpriced'),
    )
    const tx = await queue(lane, 1)
    await lane.until(() => lane.events('held').some(({ reason }) => reason === 'blocked'), 600_000)
    expect(tx.stage).not.toBe('sealed')
    lane.foreign()
    lane.script = undefined
    await lane.until(() => lane.events('released').some(({ reason }) => reason === 'blocked'), 600_000)
    await lane.settle(lane.sender.drain(), 600_000)
  })
})

test('P8: blocks for a no-op at the ceiling that is refused in every block', async () => {
  await using lane = await openLane({ fees: { ceiling: { maxFeePerGas: 2_300_000n } } })
  const cap = refuses('tx fee (1.00 ether) exceeds the configured cap (0.10 ether)')
  lane.script = onSend(() => cap)
  const tx = await queue(lane, 1)
  await lane.until(() => lane.events('held').some(({ reason }) => reason === 'blocked'), 600_000)
  expect(tx.stage).not.toBe('sealed')
  lane.script = undefined
  await lane.until(() => lane.events('released').some(({ reason }) => reason === 'blocked'), 600_000)
  await lane.settle(lane.sender.drain(), 600_000)
  expect(lane.executed()).toEqual(['noop'])
})

describe('jump', () => {
  test('holds the lane for an unexplained count more than 64 ahead, and lifts once the count is refuted', async () => {
    await using lane = await openLane()
    const first = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(first.wait())
    lane.script = ({ method }) =>
      method === 'eth_getTransactionCount' ? { ok: true, result: '0x65' } : undefined
    const second = await queue(lane, 2)
    await lane.until(() => lane.events('held').some(({ reason }) => reason === 'jump'))
    const { holds, holdDetails } = await lane.snapshot()
    expect([holds, holdDetails?.jump]).toEqual([['jump'], expect.stringContaining('counts 101 used nonces')])
    lane.script = undefined
    const landed = await lane.settle(second.wait())
    await lane.until(() => lane.events('released').length > 0)
    expect([landed.nonce, (await lane.snapshot()).holds]).toEqual([1, []])
    expect(lane.executed()).toEqual([1, 2])
    expect(lane.events('foreign')).toEqual([])
  })

  test('continues above a jump of the floor by more than 64 if a body shows its cause', async () => {
    await using lane = await openLane()
    const first = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(first.wait())
    lane.chain.adjust({ address: ACCOUNT, nonces: 100 })
    const second = await queue(lane, 2)
    await lane.blocks(1)
    lane.script = swallow(2)
    await lane.until(() => lane.events('foreign').length > 0)
    lane.script = undefined
    const landed = await lane.settle(second.wait())
    expect(landed.nonce).toBeGreaterThanOrEqual(101)
    expect(lane.executed()).toEqual([1, 2])
  })
})

describe('a block that was sealed before the lane opened, and that leaves the chain', () => {
  test('row 8, P3: reuses its nonces, and fills nonces whose transactions do not return', async () => {
    await using lane = await openLane({ closed: true, coldStart: 'immediate' })
    lane.chain.start()
    lane.foreign(1)
    lane.foreign(2)
    await lane.blocks(1)
    await lane.settle(lane.sender.ready())
    lane.chain.reorg({ depth: lane.chain.head.number, drops: () => true })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual(['noop', 'noop', 1])
  })

  test('holds the lane for more than 64 empty nonces below a signed transaction, until the count recovers', async () => {
    await using lane = await openLane({ closed: true, lossDepth: 3 })
    lane.chain.start()
    lane.chain.adjust({ address: ACCOUNT, nonces: 70 })
    await lane.blocks(1)
    await lane.settle(lane.sender.ready())
    // Mined, it would refute the count.
    lane.script = (call, tx) => {
      if (tx) return swallows(tx)
      return call.method === 'eth_getTransactionCount' ? { ok: true, result: '0x1' } : undefined
    }
    await queue(lane, 1)
    await lane.until(() => lane.events('held').some(({ reason }) => reason === 'jump'))
    expect(lane.events('held').at(-1)?.detail).toMatch(/stands at nonce 1, .* from nonce 70 on/)
    expect(lane.sent.filter((tx) => tx.nonce < 70)).toEqual([])
    // The node was at fault, and it has recovered.
    lane.script = undefined
    await lane.until(() => lane.events('released').length > 0)
    expect((await lane.snapshot()).floor).toBeGreaterThanOrEqual(70)
    await lane.settle(lane.sender.drain())
    expect(new Set(lane.sent.map((tx) => tx.nonce))).toEqual(new Set([70]))
  })
})

describe('coldStart', () => {
  test("'settle' waits until two readings at different blocks agree", async () => {
    await using lane = await openLane({ nonce: 7, closed: true })
    lane.chain.start()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(lane.chain.head.number).toBeGreaterThanOrEqual(1)
    expect(tx.nonce).toBe(7)
  })

  test.each([
    ["'immediate' does not", { nonce: 7, coldStart: 'immediate' as const }],
    ['an unused account does not wait either', { nonce: 0 }],
  ])('%s', async (_, options) => {
    await using lane = await openLane({ ...options, closed: true })
    lane.chain.start()
    await lane.settle(lane.sender.send(transfer(1)))
    expect(lane.chain.head.number).toBe(0)
  })
})

test('row 18: does not hold the lane while all sends fail, and repair continues', async () => {
  await using lane = await openLane()
  lane.script = onSend(() => TIMES_OUT)
  await queue(lane, 1)
  await lane.blocks(5)
  expect(await holds(lane)).toEqual([])
  lane.script = undefined
  await lane.settle(lane.sender.drain())
  expect(lane.executed()).toEqual([1])
})
