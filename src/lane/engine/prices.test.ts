import { describe, expect, test } from 'vitest'
import { nameOf, openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { Tx, TxRequest } from '../../types/index.js'

// The node suggests a tip of 100,000 wei above a base fee of 1,000,000. The first estimate is 2,100,000, the
// lane's ceiling is ten times that, and the ceiling of transactions is two bump steps below.
const SUGGESTED_WEI = 100_000n
const LANE_CEILING_WEI = 21_000_000n

const sendAll = (lane: SimLane, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) => lane.sender.send(transfer(index + 1), { until: 'queued' })),
  )

const sealed = (lane: SimLane, txs: readonly Tx[], maxMs?: number) =>
  lane.settle(Promise.all(txs.map((tx) => tx.wait('sealed'))), maxMs)

describe('prices learned from a refusal apply to every nonce', () => {
  test.each([
    ['names its minimum', 1.7, true, 2],
    ['names no number', 1.7, false, 4],
    ['names its minimum', 2.5, true, 2],
    ['names no number', 2.5, false, 4],
  ])(
    'a node that %s, %d times its suggestion (%s): five land within %d offers each',
    async (_, times, tipStated, offers) => {
      const tipWeiMin = (SUGGESTED_WEI * BigInt(times * 10)) / 10n
      await using lane = await openLane({ chain: { tipWeiMin, tipStated } })
      const beganAtMs = lane.clock.now()
      const txs = await lane.settle(sendAll(lane, 5))
      await sealed(lane, txs)
      expect(lane.clock.now() - beganAtMs).toBeLessThan(6_000)
      expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
      for (const tx of txs) expect(tx.attempts.length).toBeLessThanOrEqual(offers)
      // Later transactions start there; without a number, at the last refused step.
      const next = await lane.settle(lane.sender.send(transfer(6)))
      expect(next.attempts.length).toBeLessThanOrEqual(tipStated ? 1 : 2)
      await sealed(lane, [next])
    },
  )

  test('forgets a learned price after a while, so that a cheaper node gets lower offers', async () => {
    await using lane = await openLane({ chain: { tipWeiMin: 200_000n } })
    const [first] = await lane.settle(sendAll(lane, 1))
    await sealed(lane, [first as Tx])
    lane.chain.pool.setTipMin(1n)
    await lane.clock.advance(601_000)
    const next = await lane.settle(lane.sender.send(transfer(2), { until: 'queued' }))
    await sealed(lane, [next])
    expect(lane.sent.filter((sent) => nameOf(sent) === 2).map(({ tipWei }) => tipWei)[0]).toBe(SUGGESTED_WEI)
  })
})

describe("a node whose minimum is above the transaction's ceiling", () => {
  test("row 20, P5: within the lane's ceiling a no-op takes the nonce at once, and the error has both numbers", async () => {
    await using lane = await openLane({ chain: { tipWeiMin: 19_000_000n } })
    const beganAtMs = lane.clock.now()
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    const error = await lane.rejection(tx.wait('sealed'))
    expect(lane.clock.now() - beganAtMs).toBeLessThan(8_000)
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(error.message).toContain('no less than 19000000 wei')
    expect(error.message).toContain('the ceiling is 17044067 wei')
    expect(lane.executed()).toEqual(['noop'])
    expect(tx.attempts).toHaveLength(1)
  })

  test('refuses the next transactions without a nonce while the minimum is known', async () => {
    await using lane = await openLane({ chain: { tipWeiMin: 19_000_000n } })
    const first = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    await lane.until(() => lane.events('feeCeiling').length > 0)
    const error = await lane.rejection(lane.sender.send(transfer(2)))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(error.message).toContain('no less than 19000000 wei')
    expect(lane.sent.some((sent) => nameOf(sent) === 2)).toBe(false)
    await lane.rejection(first.wait('sealed'))
  })

  describe("a node whose minimum is above the lane's ceiling as well", () => {
    const MINIMUM_WEI = 25_000_000n
    const GOOD = { maxFeePerGas: 300_000_000n, maxPriorityFeePerGas: 30_000_000n }

    async function wedged(chain: object = {}): Promise<{ lane: SimLane; tx: Tx }> {
      const lane = await openLane({ chain: { tipWeiMin: MINIMUM_WEI, ...chain } })
      const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
      await lane.until(() => lane.events('held').length > 0)
      return { lane, tx }
    }

    test('reports both numbers, and offers the same bytes a few times a minute', async () => {
      const { lane, tx } = await wedged()
      await using _ = lane
      const { holds, holdDetails } = (await lane.snapshot()) as {
        holds: string[]
        holdDetails?: Record<string, string>
      }
      expect(holds).toEqual(['blocked'])
      expect(JSON.stringify(holdDetails)).toContain(`no less than ${MINIMUM_WEI} wei`)
      expect(lane.events('feeCeiling')).toHaveLength(1)
      await lane.clock.advance(60_000)
      expect(tx.attempts).toHaveLength(1)
      expect(lane.sent.length).toBeLessThan(31)
      await lane.settle(tx.speedUp(GOOD))
      await sealed(lane, [tx])
    })

    test('accepts speedUp with sufficient fees, and the lane continues', async () => {
      const { lane, tx } = await wedged()
      await using _ = lane
      await lane.settle(tx.speedUp(GOOD))
      await sealed(lane, [tx], 6_000)
      expect(lane.sent.at(-1)).toMatchObject({ tipWei: 30_000_000n })
      await lane.until(() => lane.events('released').length > 0)
      expect(lane.executed()).toEqual([1])
    })

    test('replaces a transaction with a sufficient tip by a no-op at its price at once', async () => {
      const { lane, tx } = await wedged()
      await using _ = lane
      const good = await lane.settle(
        lane.sender.send({ ...transfer(2), ...GOOD } as TxRequest, { until: 'queued' }),
      )
      await sealed(lane, [good], 20_000)
      expect(await lane.rejection(tx.wait('sealed'))).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
      expect(lane.executed()).toEqual(['noop', 2])
    })

    test('continues within three blocks when the node lowers its minimum', async () => {
      const { lane, tx } = await wedged()
      await using _ = lane
      lane.chain.pool.setTipMin(1n)
      expect(tx.attempts).toHaveLength(1)
      await sealed(lane, [tx], 12_000)
      expect(tx.attempts).toHaveLength(1)
    })

    test('without a number in the message: the steps end at the ceiling, and speedUp with sufficient fees lands', async () => {
      const { lane, tx } = await wedged({ tipStated: false })
      await using _ = lane
      for (const { maxFeeWei } of lane.sent) expect(maxFeeWei).toBeLessThanOrEqual(LANE_CEILING_WEI)
      await lane.settle(tx.speedUp(GOOD))
      await sealed(lane, [tx], 20_000)
      expect(lane.executed()).toEqual([1])
    })
  })
})

describe('a pool that compares the effective price (Besu)', () => {
  test.each([1_000n, 100_000n, 1_900_000n])('accepts a first bump of a tip of %d wei', async (tipWei) => {
    await using lane = await openLane({ chain: { replacement: 'effectivePrice', rules: 'geth', tipWei } })
    lane.chain.setHalted(true)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.speedUp())
    await lane.until(() => tx.attempts.length === 2)
    await lane.clock.advance(1_000)
    const newest = tx.attempts.at(-1)
    expect(lane.chain.pool.has(newest?.hash ?? '0x')).toBe(true)
    lane.chain.setHalted(false)
    await sealed(lane, [tx])
    expect(lane.events('displaced')).toEqual([])
  })
})
