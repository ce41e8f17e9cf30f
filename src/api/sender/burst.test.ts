import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import type { RpcReply } from '../../rpc/port.js'
import { onSend, openLane, transfer } from './simLane.fixture.js'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test('the first bytes of a burst are sent while its last transactions are still being stored', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(9_999)))
  const order: string[] = []
  for (const event of ['queued', 'signed'] as const) lane.sender.on(event, () => order.push(event))
  await lane.settle(Promise.all(numbers(1_200).map((marker) => lane.sender.send(transfer(marker)))))
  expect(order.filter((event) => event === 'queued')).toHaveLength(1_200)
  expect(order.indexOf('signed')).toBeLessThan(order.lastIndexOf('queued'))
})

// Blocks are far apart, so that only the answers to sends, which take 5 ms each, can make room.
const SLOW = { rules: 'geth', blockTimeMs: 12_000 } as const

test('P9: a burst does not wait for blocks if the node counts its pool: counted transactions make room', async () => {
  await using lane = await openLane({ chain: SLOW })
  const { number } = lane.chain.head
  const begunMs = lane.clock.now()
  await lane.settle(Promise.all(numbers(1_200).map((marker) => lane.sender.send(transfer(marker)))))
  expect(lane.chain.head.number).toBe(number)
  expect(lane.sent).toHaveLength(1_200)
  // The burst did not wait for a tick either.
  expect(lane.clock.now() - begunMs).toBeLessThan(30 * 5)
})

test('once the node is known to count its pool, waiting bytes go in one request and keep their order', async () => {
  await using lane = await openLane({ chain: SLOW })
  // The lane learns from these answers that the node counts its pool.
  await lane.settle(Promise.all(numbers(200).map((marker) => lane.sender.send(transfer(marker)))))
  await lane.clock.advance(2 * SLOW.blockTimeMs)

  const before = lane.requests.length
  const rest = numbers(200).map((marker) => lane.sender.send(transfer(1_000 + marker)))
  await lane.settle(Promise.all(rest))
  const sizes = lane.requests
    .slice(before)
    .map((calls) => calls.filter(({ method }) => method === 'eth_sendRawTransaction').length)
    .filter((size) => size > 0)
  expect(sizes.length).toBeLessThanOrEqual(4)
  expect(lane.sent.map(({ nonce }) => nonce)).toEqual(numbers(400).map((number) => number - 1))
})

test('a transaction that a feed has reported makes room at once', async () => {
  await using lane = await openLane({
    chain: { blockTimeMs: 12_000, flashblockMs: 12_000 },
    limits: { windowMax: 64 },
  })
  const all = numbers(128).map((marker) => lane.sender.send(transfer(marker)))
  await lane.until(() => lane.sent.length === 64)
  const shown = await lane.settle(Promise.all(all.slice(0, 64)))
  lane.sender.observe({
    blockNumber: BigInt(lane.chain.head.number + 1),
    hashes: shown.map(({ hash }) => hash as Hash),
  })
  // Neither a block nor a read of the pending block comes in this time.
  await lane.clock.advance(100)
  expect(lane.sent).toHaveLength(128)
})

test('bytes whose answers were too large together go in smaller batches, and none counts as accepted before', async () => {
  await using lane = await openLane()
  const cut: RpcReply = { ok: false, failure: { kind: 'malformed', message: 'too large', cut: true } }
  const sizes: number[] = []
  lane.script = onSend(() => {
    const size = lane.requests.at(-1)?.length ?? 0
    sizes.push(size)
    return size > 10 ? cut : undefined
  })
  const all = numbers(64).map((marker) => lane.sender.send(transfer(marker)))
  await lane.until(() => sizes.length === 64)
  await lane.clock.advance(50)
  expect(lane.events('accepted')).toHaveLength(sizes.filter((size) => size <= 10).length)
  await lane.settle(Promise.all((await lane.settle(Promise.all(all))).map((tx) => tx.wait())))
  expect(sizes.at(-1)).toBeLessThanOrEqual(10)
  expect([...lane.executed()].sort((a, b) => Number(a) - Number(b))).toEqual(numbers(64))
})
