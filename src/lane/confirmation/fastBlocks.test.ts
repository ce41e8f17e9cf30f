import { expect, test } from 'vitest'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'

const FAST = { rules: 'geth', blockTimeMs: 200 } as const

/** The virtual time from the block of a transaction to its verdict. */
async function verdictAfterMs(blockTimeMs: number): Promise<number> {
  await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs }, lossDepth: 'child' })
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.until(() => tx.stage === 'sealed')
  const from = lane.clock.now()
  while (tx.toJSON().finishedAt === undefined) await lane.clock.advance(50)
  return lane.clock.now() - from
}

test('on 200 ms blocks a child and 2 s prove an end', async () => {
  const ms = await verdictAfterMs(200)
  expect(ms).toBeGreaterThanOrEqual(2_000)
  expect(ms).toBeLessThanOrEqual(2_400)
})

test('on 2 s blocks a child proves an end, no more than a poll later than its arrival', async () => {
  const ms = await verdictAfterMs(2_000)
  expect(ms).toBeGreaterThanOrEqual(1_950)
  expect(ms).toBeLessThanOrEqual(2_450)
})

test('a reorg of fast blocks within 2 s takes no verdict back, and the transaction executes once', async () => {
  await using lane = await openLane({ chain: FAST, lossDepth: 'child' })
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.until(() => tx.stage === 'sealed')
  await lane.until(() => lane.chain.canonical.at(-8)?.executed.length === 1)
  expect(tx.toJSON().finishedAt).toBeUndefined()
  lane.chain.reorg({ depth: 9, drops: () => true })
  await lane.until(() => lane.events('reorged').length > 0)
  await lane.until(() => tx.toJSON().finishedAt !== undefined)
  expect(lane.events('deepReorg')).toEqual([])
  expect(lane.executed()).toEqual([1])
})

test('a cancel of a transaction whose nonce a block used is answered after 2 s of fast blocks', async () => {
  await using lane = await openLane({ chain: FAST, lossDepth: 'child' })
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.until(() => tx.stage === 'sealed')
  const from = lane.clock.now()
  expect(await lane.settle(tx.cancel())).toMatchObject({ result: 'tooLate' })
  expect(lane.clock.now() - from).toBeGreaterThanOrEqual(1_900)
})
