import { describe, expect, test } from 'vitest'
import { openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'

/** Sends this many at once and runs until all are sealed; returns the number of sends per transaction. */
async function burst(lane: SimLane, count: number): Promise<number> {
  const txs = await lane.settle(
    Promise.all(
      Array.from({ length: count }, (_, index) => lane.sender.send(transfer(index + 1), { until: 'queued' })),
    ),
  )
  await lane.settle(Promise.all(txs.map((tx) => tx.wait('sealed'))), 3_600_000)
  expect(lane.executed()).toHaveLength(count)
  return lane.sent.length / count
}

describe("learns how far above the account's nonce a node accepts transactions", () => {
  test('zkSync Era reports its range: 200 land with at most 1.3 sends each', async () => {
    await using lane = await openLane({ chain: { nonceAheadMax: 20, rules: 'latest', blockTimeMs: 1_000 } })
    expect(await burst(lane, 200)).toBeLessThan(1.3)
    expect((await lane.snapshot()).window).toBeLessThanOrEqual(32)
  })

  test('a small geth silently drops accepted transactions: 1,000 land with at most 1.3 sends each', async () => {
    await using lane = await openLane({
      chain: { executableMax: 64, gappedMax: 8, rules: 'geth', blockTimeMs: 1_000 },
    })
    expect(await burst(lane, 1_000)).toBeLessThan(1.3)
    expect((await lane.snapshot()).window).toBeLessThanOrEqual(96)
  }, 60_000)

  test('detects a larger pool: tries a limit half as much higher, and succeeds', async () => {
    await using lane = await openLane({
      chain: { executableMax: 8, rules: 'geth', blockTimeMs: 1_000 },
    })
    await burst(lane, 100)
    expect((await lane.snapshot()).window).toBeLessThanOrEqual(18)
    lane.chain.pool.setExecutableMax(Number.POSITIVE_INFINITY)
    const { number } = lane.chain.head
    const txs = await lane.settle(
      Promise.all(
        Array.from({ length: 1_000 }, (_, index) =>
          lane.sender.send(transfer(index + 101), { until: 'queued' }),
        ),
      ),
    )
    await lane.settle(Promise.all(txs.map((tx) => tx.wait('sealed'))), 3_600_000)
    expect(lane.chain.head.number - number).toBeLessThan(60)
  }, 60_000)
})
