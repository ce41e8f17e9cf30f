import { describe, expect, test } from 'vitest'
import { openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { Port, RpcReply } from '../../rpc/port.js'

const BLOCK_MS = 12_000
/** A poll, and the answers that it waits for. */
const SEEN_WITHIN_MS = BLOCK_MS / 20 + 200

/** Number of calls until a transaction is known to be in a block, if it is sent half a block before. */
async function callsFor(lane: SimLane, marker: number): Promise<{ calls: number; lateMs: number }> {
  const before = lane.requests.flat().length
  const tx = await lane.settle(lane.sender.send(transfer(marker)))
  const sealed = lane.settle(tx.wait('sealed'))
  let atMs: number | undefined
  const { head } = lane.chain
  await lane.until(() => {
    if (lane.chain.head !== head) atMs ??= lane.clock.now()
    return tx.stage === 'sealed'
  })
  const lateMs = lane.clock.now() - (atMs ?? 0)
  await sealed
  return { calls: lane.requests.flat().length - before, lateMs }
}

describe.each(['geth', 'reth', 'latest'] as const)(
  'while one transaction waits for a slow block, %s',
  (rules) => {
    test('makes few calls, and detects the block soon', async () => {
      await using lane = await openLane({ chain: { rules, blockTimeMs: BLOCK_MS } })
      // The count's meaning and the block time are known by then.
      for (let marker = 1; marker <= 4; marker++) await callsFor(lane, marker)
      for (let marker = 5; marker <= 8; marker++) {
        const { calls, lateMs } = await callsFor(lane, marker)
        expect(calls).toBeLessThanOrEqual(32)
        expect(lateMs).toBeLessThanOrEqual(SEEN_WITHIN_MS)
      }
    })

    test('detects with its block that another sender used a nonce', async () => {
      await using lane = await openLane({ chain: { rules, blockTimeMs: BLOCK_MS } })
      for (let marker = 1; marker <= 4; marker++) await callsFor(lane, marker)
      const tx = await lane.settle(lane.sender.send(transfer(5)))
      const sealed = tx.wait('sealed')
      lane.foreign()
      const { head } = lane.chain
      await lane.until(() => lane.chain.head !== head)
      const atMs = lane.clock.now()
      await lane.until(() => lane.events('foreign').length > 0)
      expect(lane.clock.now() - atMs).toBeLessThanOrEqual(3 * SEEN_WITHIN_MS)
      await lane.settle(sealed)
      expect(lane.executed().filter((one) => one === 5)).toEqual([5])
    })
  },
)

test('a sealed block that has to stand for longer costs a poll for each block, and none in between', async () => {
  const blockTimeMs = 750
  await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs } })
  for (let marker = 1; marker <= 16; marker++) await callsFor(lane, marker)
  const { head } = lane.chain
  const before = lane.requests.length
  await lane.until(() => lane.chain.head.number >= head.number + 2)
  expect(lane.requests.length - before).toBeLessThanOrEqual(4)
})

test.each([
  ['minutes behind', 3_000, 600, 45_000],
  ['seconds behind', 40, 8, 5_000],
])(
  'a caller that waits for a tag %s costs few polls, and is notified soon after it',
  async (_, finalizedDepth, seconds, lateMsMax) => {
    const blockTimeMs = 200
    await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs, finalizedDepth } })
    for (let marker = 1; marker <= 40; marker++) await callsFor(lane, marker)
    const tx = await lane.settle(lane.sender.send(transfer(41)))
    const { receipt } = await lane.settle(tx.wait('sealed'))
    const before = lane.requests.length
    const final = lane.settle(tx.wait('finalized'), 900_000)
    await lane.until(() => lane.chain.head.number >= Number(receipt.blockNumber) + finalizedDepth, 900_000)
    const atMs = lane.clock.now()
    await final
    expect(lane.clock.now() - atMs).toBeLessThanOrEqual(lateMsMax)
    // Polls for each block until all is settled and for 15 s after that, then three requests in 12 s.
    expect(lane.requests.length - before).toBeLessThanOrEqual(60 * 5 + 40 + (seconds / 12) * 4)
  },
)

test('a lane that only awaits finality polls fast blocks once in 12 s, and still sees the next one at once', async () => {
  const blockTimeMs = 200
  await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs, finalizedDepth: 6_000 } })
  for (let marker = 1; marker <= 40; marker++) await callsFor(lane, marker)
  await lane.clock.advance(60_000)
  const before = lane.requests.length
  await lane.clock.advance(120_000)
  const rested = lane.requests.slice(before)
  // A poll, and two requests for the blocks since the poll before it.
  expect(rested.length).toBeLessThanOrEqual(3 * 10)
  expect(rested.flat().length).toBeLessThanOrEqual(120_000 / blockTimeMs + 6 * 10)
  const { lateMs } = await callsFor(lane, 41)
  expect(lateMs).toBeLessThanOrEqual(blockTimeMs)
  expect((await lane.snapshot()).holds).toEqual([])
})

test('an endpoint that falls behind for some seconds is not polled again at once', async () => {
  const blockTimeMs = 200
  const shown = new Map<number, RpcReply>()
  let behind = 0
  const around = (port: Port): Port => ({
    ...port,
    async batch(calls, options) {
      const replies = await port.batch(calls, options)
      return replies.map((reply, index) => {
        if (calls[index]?.method !== 'eth_getBlockByNumber' || calls[index].params[0] !== 'latest')
          return reply
        const number = reply.ok ? Number((reply.result as { number: string }).number) : -1
        shown.set(number, reply)
        return shown.get(number - behind) ?? reply
      })
    },
  })
  await using lane = await openLane({ chain: { rules: 'reth', blockTimeMs }, around })
  for (let marker = 1; marker <= 40; marker++) await callsFor(lane, marker)
  await lane.clock.advance(1_000)
  behind = 3
  const before = lane.requests.length
  await lane.clock.advance(5_000)
  expect(lane.requests.length - before).toBeLessThanOrEqual(5 * 6 + 24)
})
