import { describe, expect, test } from 'vitest'
import {
  distinct,
  hashes,
  nameOf,
  onSend,
  openLane,
  outbids,
  refuses,
  swallows,
  TIMES_OUT,
  transfer,
  UNDERPRICED,
} from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import type { Tx, TxRequest } from '../../types/index.js'

const TOO_MUCH_GAS = refuses('exceeds block gas limit')

describe('rows 19 and 20: accepted, and in no block', () => {
  test('row 19: resends the newest attempt, and then bumps both fees by at least a tenth', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (tx.hash === lane.sent[0]?.hash ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    const names = hashes(lane)
    expect(names[1]).toBe(names[0])
    expect(names.at(-1)).not.toBe(names[0])
    expect(outbids(lane.sent.at(-1), lane.sent[0])).toBe(true)
    expect(lane.executed()).toEqual([1])
  })

  test('row 19: an unknown error message in every block does not prevent the bump', async () => {
    await using lane = await openLane()
    // A rejection of a custom transport counts as unknown, regardless of its message.
    const odd: RpcReply = { ok: false, failure: { kind: 'custom', message: 'tip too low', cause: undefined } }
    lane.script = onSend((tx) => (tx.hash === lane.sent[0]?.hash ? odd : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(outbids(lane.sent.at(-1), lane.sent[0])).toBe(true)
    await lane.settle(tx.wait('sealed'))
  })

  test('row 19: offers the same bytes and raises no fee while the endpoint refuses everything', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => TIMES_OUT)
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    await lane.clock.advance(60_000)
    expect(distinct(lane)).toBe(1)
    // At most once a sealed block, and by time at first, with pauses that double.
    expect(lane.sent.length).toBeLessThanOrEqual(lane.chain.head.number + 8)
    lane.script = undefined
    await lane.settle(tx.wait('sealed'))
  })

  test('row 19, P8: keeps sending the existing bytes while the signer is unavailable', async () => {
    let away = false
    await using lane = await openLane({ fails: () => away })
    lane.script = onSend((tx) => (lane.sent.length <= 3 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    away = true
    await lane.settle(tx.wait('sealed'))
    expect(distinct(lane)).toBe(1)
    expect(lane.events('error').length).toBeGreaterThan(0)
  })

  test('rows 17 and 19, P8: offers the ceiling if the larger step of an rejected replacement would exceed it', async () => {
    await using lane = await openLane()
    const [first] = (await lane.settle(lane.sender.send(transfer(1)))).attempts
    // One step and a half above the bump, because a rejected replacement requires two.
    const feeCeiling = ((first?.fees.maxFeePerGas ?? 0n) * 111n * 115n) / 10_000n
    const { length } = lane.sent
    const known = new Set<string>()
    lane.script = onSend((tx) => {
      known.add(tx.hash)
      if (known.size === 1) return swallows(tx)
      return known.size === 2 ? UNDERPRICED : undefined
    })
    const tx = await lane.settle(lane.sender.send(transfer(2), { feeCeiling }))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.slice(length).at(-1)?.maxFeeWei).toBe(feeCeiling)
  })

  test('row 19: bumps without the usual wait once the base fee exceeds the offer', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    lane.chain.spikeBaseFee(40_000_000n, 20)
    await lane.settle(tx.wait('sealed'))
    expect(tx.attempts.length).toBeLessThanOrEqual(3)
    expect(lane.executed()).toEqual([1])
  })

  // Above the lane's ceiling, because its first estimate is for a base fee of 1,000,000 wei.
  const DEAR_WEI = 10n ** 9n
  const FEES = { maxFeePerGas: DEAR_WEI, maxPriorityFeePerGas: 1_000_000n }
  const dear = (marker: number) => ({ ...transfer(marker), ...FEES }) as TxRequest

  test("row 19, P3: bumps a stranded transaction out of its pool, also above the lane's ceiling", async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => {
      if (lane.sent.length > 1) return undefined
      lane.chain.submit(tx.raw)
      lane.chain.pool.strand(({ hash }) => hash === tx.hash)
      return undefined
    })
    const txs: Tx[] = []
    for (const marker of [1, 2, 3]) txs.push(await lane.settle(lane.sender.send(dear(marker))))
    for (const tx of txs) await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1, 2, 3])
    expect(txs.map(({ attempts }) => attempts.length)).toEqual([2, 1, 1])
    for (const { maxFeeWei } of lane.sent) expect(maxFeeWei).toBeLessThan((DEAR_WEI * 112n) / 100n)
  })

  test("rows 19 and 20, P3, P9: above the lane's ceiling bumps twice, and voids within two more steps", async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(dear(1)))
    const error = await lane.rejection(tx.wait('sealed'), 600_000)
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(lane.executed()).toEqual(['noop'])
    expect(new Set(lane.sent.filter((one) => nameOf(one) === 1).map(({ hash }) => hash)).size).toBe(3)
    for (const { maxFeeWei } of lane.sent) expect(maxFeeWei).toBeLessThan((DEAR_WEI * 153n) / 100n)
  })

  test('row 20: voids instead of bumping if its own ceiling leaves no room', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(dear(1), { feeCeiling: DEAR_WEI }))
    await lane.rejection(tx.wait('sealed'), 600_000)
    expect(lane.executed()).toEqual(['noop'])
    expect(new Set(lane.sent.filter((one) => nameOf(one) === 1).map(({ hash }) => hash)).size).toBe(1)
  })

  test('row 20, P9: voids below its ceiling after the maximum number of bumps', async () => {
    await using lane = await openLane({ fees: { bump: { attemptsMax: 2 } } })
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const error = await lane.rejection(tx.wait('sealed'), 600_000)
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(error.shortMessage).toBe(
      'It reached the maximum number of bumps (fees.bump.attemptsMax) and did not land. A no-op took its nonce.',
    )
    expect(new Set(lane.sent.filter((one) => nameOf(one) === 1).map(({ hash }) => hash)).size).toBe(3)
    expect(lane.events('feeCeiling')).toHaveLength(1)
    expect(lane.executed()).toEqual(['noop'])
  })

  test("row 22: a replacement without fees also outbids above the lane's ceiling", async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(dear(1)))
    const next = await lane.settle(tx.replace(transfer(2)))
    await lane.settle(next.wait('sealed'))
    expect(lane.executed()).toEqual([2])
  })

  test('row 20, P5: at its ceiling emits feeCeiling, voids the nonce, and the transaction fails', async () => {
    await using lane = await openLane({ fees: { ceiling: { maxFeePerGas: 3_000_000n } } })
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const error = await lane.rejection(tx.wait('sealed'), 600_000)
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(error.shortMessage).toBe('It reached its fee ceiling and did not land. A no-op took its nonce.')
    expect(lane.events('feeCeiling')).toHaveLength(1)
    expect(lane.executed()).toEqual(['noop'])
    // Two steps below the lane's own ceiling, which are reserved for no-ops.
    for (const sent of lane.sent) expect(sent.maxFeeWei).toBeLessThanOrEqual(3_000_000n)
    for (const sent of lane.sent.filter((one) => nameOf(one) === 1))
      expect(sent.maxFeeWei).toBeLessThan(2_450_000n)
  })

  test.each([
    ['It reached its fee ceiling', { ceiling: { maxFeePerGas: 3_000_000n } }],
    ['It reached the maximum number of bumps', { bump: { attemptsMax: 2 } }],
  ])('row 20: "%s" has the words of the endpoint that refused it', async (sentence, fees) => {
    await using lane = await openLane({ fees })
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? refuses('transaction underpriced') : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    const error = await lane.rejection(tx.wait('sealed'), 600_000)
    expect(error).toMatchObject({ code: 'REJECTED', details: 'sim said: transaction underpriced' })
    expect(error.shortMessage).toContain(sentence)
    expect(lane.executed()).toEqual(['noop'])
  })

  test("a transaction's own feeCeiling stops its bumps earlier", async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1), { feeCeiling: 2_600_000n }))
    await lane.rejection(tx.wait('sealed'), 600_000)
    for (const sent of lane.sent.filter((one) => nameOf(one) === 1))
      expect(sent.maxFeeWei).toBeLessThanOrEqual(2_600_000n)
  })

  test('row 15: two counted refusals are not enough', async () => {
    await using lane = await openLane()
    let answers = 0
    lane.script = onSend(() => (answers++ < 2 ? TOO_MUCH_GAS : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
  })
})

test('row 19: bumps a pooled transaction that no block can include since the base fee rose above it', async () => {
  await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 2_000 } })
  const burst = Array.from({ length: 100 }, (_, index) => lane.sender.send(transfer(index + 1)))
  for (const sent of burst) await lane.settle((await lane.settle(sent)).wait('sealed'))
  expect((await lane.snapshot()).endpoints[0]?.profile).toMatchObject({ pending: 'mempool' })
  const before = distinct(lane)
  lane.chain.spikeBaseFee((lane.sent.at(-1)?.maxFeeWei ?? 0n) * 2n, 1_000_000)
  // The newest sealed block is an earlier one, and the next one is not.
  await lane.blocks(1)
  const tx = await lane.settle(lane.sender.send(transfer(101)))
  await lane.settle(tx.wait('sealed'))
  expect(distinct(lane)).toBeGreaterThan(before + 1)
})

describe('row 19: a pooled transaction that blocks skip for its price', () => {
  /** A lane that knows that its node counts the pool. */
  async function openPooled() {
    const lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 2_000 } })
    const burst = Array.from({ length: 100 }, (_, index) => lane.sender.send(transfer(index + 1)))
    for (const sent of burst) await lane.settle((await lane.settle(sent)).wait('sealed'))
    expect((await lane.snapshot()).endpoints[0]?.profile).toMatchObject({ pending: 'mempool' })
    return lane
  }

  /** The next send offers too little for any block. */
  function passOverNext(lane: Awaited<ReturnType<typeof openLane>>) {
    const { length } = lane.sent
    lane.script = onSend((tx) => {
      if (lane.sent.length > length + 1) return undefined
      lane.chain.submit(tx.raw)
      lane.chain.pool.passOver(({ hash }) => hash === tx.hash)
      return undefined
    })
  }

  test('bumps the head, and leaves higher nonces unchanged', async () => {
    await using lane = await openPooled()
    passOverNext(lane)
    const txs: Tx[] = []
    for (const marker of [101, 102, 103]) txs.push(await lane.settle(lane.sender.send(transfer(marker))))
    for (const tx of txs) await lane.settle(tx.wait('sealed'))
    expect(txs.map(({ attempts }) => attempts.length)).toEqual([2, 1, 1])
  })

  test('waits more blocks than without a pool, and does not send again meanwhile', async () => {
    await using lane = await openPooled()
    passOverNext(lane)
    const { length } = lane.sent
    await lane.settle(lane.sender.send(transfer(101)))
    await lane.blocks(7)
    expect(lane.sent.length).toBe(length + 1)
    await lane.blocks(4)
    expect(lane.sent.length).toBeGreaterThan(length + 1)
  })

  test('bumps nothing without blocks', async () => {
    await using lane = await openPooled()
    lane.chain.setHalted(true)
    const before = distinct(lane)
    await lane.settle(lane.sender.send(transfer(101)))
    await lane.clock.advance(600_000)
    expect(distinct(lane)).toBe(before + 1)
    lane.chain.setHalted(false)
  })
})
