import { expect, test } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import { openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'
import type { Tx } from '../../types/index.js'

/** Finality is 300 blocks away, and the lane follows the newest 24 of them. */
const FAR = {
  chain: { rules: 'geth', finalizedDepth: 300, safeDepth: 60 },
  limits: { reorgHorizon: 4 },
} as const
const FAR_MS = 3_000_000

/** Sends transactions, and runs the chain until their blocks are below the walked history. */
async function writtenOff(lane: SimLane, count = 1): Promise<{ readonly txs: Tx[]; readonly block: number }> {
  const txs: Tx[] = []
  for (let marker = 1; marker <= count; marker++)
    txs.push(await lane.settle(lane.sender.send(transfer(marker), { id: `id-${marker}` })))
  const landed = await lane.settle(Promise.all(txs.map((tx) => tx.wait('sealed'))))
  const block = Math.max(...landed.map(({ receipt }) => Number(receipt.blockNumber)))
  await lane.until(() => lane.chain.head.number >= block + 40, FAR_MS)
  return { txs, block }
}

const stored = (lane: SimLane, id: string) =>
  lane.settle(lane.sender.list({ limit: 100 })).then(({ items }) => items.find((one) => one.id === id))

test('a wait that began before, and one that begins after, resolve no earlier than the tag', async () => {
  await using lane = await openLane(FAR)
  const first = await lane.settle(lane.sender.send(transfer(7)))
  const before = first.wait('finalized')
  const { txs, block } = await writtenOff(lane)
  const after = txs[0]!.wait('finalized')
  let earliest = Number.POSITIVE_INFINITY
  const noted = Promise.race([before, after]).then(() => {
    earliest = lane.chain.head.number
  })
  await lane.settle(Promise.all([before, after, noted]), FAR_MS)
  expect(earliest).toBeGreaterThanOrEqual(block - 1 + 300)
})

test('the stage safe is reached by a transaction that was written off', async () => {
  await using lane = await openLane(FAR)
  const { txs, block } = await writtenOff(lane)
  expect(txs[0]!.stage).toBe('sealed')
  await lane.until(() => txs[0]!.stage === 'safe', FAR_MS)
  expect(lane.chain.head.number).toBeGreaterThanOrEqual(block + 60)
})

test('a transaction that was written off is the same object for get(), and its id sends nothing again', async () => {
  await using lane = await openLane(FAR)
  const { txs } = await writtenOff(lane)
  expect(await lane.settle(lane.sender.get('id-1'))).toBe(txs[0])
  expect(await lane.settle(lane.sender.get({ hash: txs[0]!.hash! }))).toBe(txs[0])
  const again = await lane.settle(lane.sender.send(transfer(1), { id: 'id-1' }))
  expect(again.hash).toBe(txs[0]!.hash)
  expect(await lane.settle(again.wait('finalized'), FAR_MS)).toMatchObject({ stage: 'finalized' })
  expect(lane.executed()).toEqual([1])
})

test('the store shows that a transaction that was written off became final', async () => {
  await using lane = await openLane(FAR)
  await writtenOff(lane, 2)
  await lane.until(() => lane.chain.head.number > 400, FAR_MS)
  expect((await stored(lane, 'id-1'))?.stage).toBe('finalized')
  expect((await stored(lane, 'id-2'))?.stage).toBe('finalized')
})

test('a later sender on the same store follows transactions that were written off, and waits for the tag', async () => {
  const store = memoryStore()
  await using lane = await openLane({ ...FAR, store })
  const { block } = await writtenOff(lane, 2)
  await lane.settle(lane.sender.close())
  const again = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
  const found = await lane.settle(again.get('id-1'))
  expect(found?.stage).toBe('sealed')
  expect(await lane.settle(found!.wait('finalized'), FAR_MS)).toMatchObject({ nonce: 0 })
  expect(lane.chain.head.number).toBeGreaterThanOrEqual(block - 1 + 300)
  const next = await lane.settle(again.send(transfer(9)))
  await lane.settle(next.wait('sealed'))
  expect(lane.executed()).toEqual([1, 2, 9])
  await lane.settle(again.close())
})
