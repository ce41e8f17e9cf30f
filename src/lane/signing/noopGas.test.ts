import { expect, test } from 'vitest'
import { openSeveral } from '../../api/sender/severalEndpoints.fixture.js'
import { openLane, type Script, type SimLane, swallow, transfer } from '../../api/sender/simLane.fixture.js'

const absurdly =
  (gas: bigint): Script =>
  ({ method }) =>
    method === 'eth_estimateGas' ? { ok: true, result: `0x${gas.toString(16)}` } : undefined

const both =
  (...scripts: readonly Script[]): Script =>
  (call, tx) => {
    for (const script of scripts) {
      const reply = script(call, tx)
      if (reply) return reply
    }
    return undefined
  }

/** Cancels a transaction that no pool has: a no-op takes its nonce. */
async function cancelOne(lane: SimLane, sender = lane.sender): Promise<void> {
  const tx = await lane.settle(sender.send(transfer(1)))
  const cancelled = tx.cancel()
  await lane.settle(cancelled)
}

test.each([1_021_000_000n, 0n, 20_999n])(
  'an estimate of %d for a no-op is ignored: the fallback is enough for a plain account',
  async (gas) => {
    await using lane = await openLane()
    lane.script = both(swallow(1), absurdly(gas))
    await cancelOne(lane)
    expect(lane.executed()).toEqual(['noop'])
    expect(lane.sent.filter(({ to }) => to === lane.account.address).map((tx) => tx.gas)).toEqual([100_000])
  },
)

test('another endpoint gives the estimate', async () => {
  await using several = await openSeveral(['both', 'both'])
  const { lane, endpoints } = several
  for (const endpoint of endpoints) endpoint.script = swallow(1)
  const [reader] = endpoints
  if (reader) reader.script = both(swallow(1), absurdly(1_021_000_000n))
  await cancelOne(lane, several.sender)
  expect(lane.executed()).toEqual(['noop'])
  const noops = endpoints.flatMap(({ raws }) => raws).filter(({ to }) => to === lane.account.address)
  expect([...new Set(noops.map(({ gas }) => gas))]).toEqual([21_000])
})
