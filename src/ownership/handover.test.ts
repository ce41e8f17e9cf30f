import type { Address } from 'viem'
import { describe, expect, test } from 'vitest'
import { stray } from '../../test/sim/port/lies.js'
import { createNonceAllocatorIn } from '../api/allocators/allocator.js'
import { openProcesses } from '../api/sender/processes.fixture.js'
import { nameOf, swallow, swallows, transfer } from '../api/sender/simLane.fixture.js'

const LEASE_MS = 10_000

describe('P7: the lane changes its owner', () => {
  test('an owner that freezes: another process continues its bytes and its queue, and the old owner does no harm after the thaw', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    lane.script = swallow(1)
    const tx = await lane.settle(first.sender.send(transfer(1)))
    const here = first.sender.send(transfer(2))
    const there = await lane.settle(second.sender.send(transfer(3), { until: 'queued' }))
    first.freeze()
    await lane.clock.advance(LEASE_MS + 5_000)
    lane.script = undefined
    await lane.settle(there.wait())
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({ holder: true })
    const late = first.sender.send(transfer(4))
    first.thaw()
    const landed = await lane.settle(Promise.all([tx.wait(), here.then((one) => one.wait())]))
    expect(landed.map(({ nonce }) => nonce)).toEqual([0, 1])
    await lane.settle(late.then((one) => one.wait()))
    expect(first.events('leaseLost')).toHaveLength(1)
    expect(lane.executed()).toEqual([1, 2, 3, 4])
    expect(new Set(lane.sent.filter((one) => nameOf(one) === 1).map(({ nonce }) => nonce))).toEqual(
      new Set([0]),
    )
  })

  test('an owner that wakes up checks its lease before it judges the transactions of the next owner as foreign', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = [world.start(), world.start()]
    await lane.settle(first.sender.send(transfer(1)))
    await lane.settle(second.sender.ready())
    first.freeze()
    await lane.clock.advance(LEASE_MS + 5_000)
    const sent = await lane.settle(
      Promise.all([2, 3, 4].map((marker) => second.sender.send(transfer(marker)))),
    )
    await lane.settle(Promise.all(sent.map((tx) => tx.wait())))
    first.storeIs(false)
    first.thaw()
    await lane.blocks(5)
    first.storeIs(true)
    await lane.until(() => first.events('leaseLost').length > 0)
    expect([...first.events('foreign'), ...first.events('held')]).toEqual([])
  })

  // Without a block that used a nonce of the lane, the records do not prove that those below are gone.
  test.each([
    ['that has used a nonce', [1_000, 1_001]],
    ['of which nothing landed', [1_000]],
  ])('P8: a lane %s is not taken over by the counts of another chain', async (_, nonces) => {
    await using world = await openProcesses({ nonce: 1_000 })
    const { lane } = world
    const [first, second] = await world.pair()
    if (nonces.length > 1) await lane.settle(first.sender.send(transfer(1)).then((tx) => tx.wait()))
    const tx = await lane.settle(second.sender.send(transfer(2), { until: 'queued' }))
    first.freeze()
    // It counts 100 nonces there.
    lane.script = (call) => stray(call)
    await lane.clock.advance(LEASE_MS + 5_000)
    lane.script = undefined
    await lane.settle(tx.wait())
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({ holder: true, holes: [] })
    expect(new Set(lane.sent.map(({ nonce }) => nonce))).toEqual(new Set(nonces))
  })

  test('transactions that were sealed while the lane had no owner are found block by block, not nonce by nonce', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const first = world.start()
    await lane.settle(first.sender.ready())
    const burst = Array.from({ length: 40 }, (_, index) => first.sender.send(transfer(index + 1)))
    await lane.settle(Promise.all(burst))
    first.freeze()
    await lane.clock.advance(LEASE_MS + 5_000)
    const before = lane.sent.length
    const { batch } = lane.port
    let searches = 0
    lane.port.batch = (calls, options) => {
      if (calls.some(({ params }) => params.length === 2 && /^0x[0-9a-f]+$/.test(String(params[1]))))
        searches++
      return batch(calls, options)
    }
    const second = world.start()
    await lane.settle(second.sender.ready())
    await lane.settle(second.sender.send(transfer(41)).then((tx) => tx.wait()))
    lane.port.batch = batch
    first.thaw()
    await lane.settle(Promise.all(burst.map((sent) => sent.then((tx) => tx.wait()))))
    expect(lane.executed()).toHaveLength(41)
    expect(searches).toBeLessThan(20)
    // Nonces below the count of the chain are not sent again.
    expect(lane.sent.slice(before).map(({ nonce }) => nonce)).toEqual([40])
  })

  test('bytes that a count spared the next owner are sent together as soon as the count is lower', async () => {
    await using world = await openProcesses({ chain: { blockTimeMs: 2_000 } })
    const { lane } = world
    const first = world.start()
    await lane.settle(first.sender.ready())
    lane.script = (_, tx) => (tx === undefined ? undefined : swallows(tx))
    const burst = Array.from({ length: 10 }, (__, index) => first.sender.send(transfer(index + 1)))
    const sent = await lane.settle(Promise.all(burst))
    first.freeze()
    // Too high: the chain has used none of them.
    lane.script = ({ method }) =>
      method === 'eth_getTransactionCount' ? { ok: true, result: '0xa' } : undefined
    await lane.clock.advance(LEASE_MS + 5_000)
    const before = lane.sent.length
    const second = world.start()
    await lane.settle(second.sender.ready())
    expect(lane.sent).toHaveLength(before)
    lane.script = undefined
    await lane.blocks(3)
    expect(lane.executed()).toHaveLength(10)
    first.thaw()
    await lane.settle(Promise.all(sent.map((tx) => tx.wait())))
  })

  test('after a takeover with a pending count that is too high, nothing is sent above it and no no-op is needed', async () => {
    await using world = await openProcesses({ chain: { rules: 'geth', blockTimeMs: 2_000 } })
    const { lane } = world
    const { sender, nodeIs } = world.start()
    // The endpoint shows that it counts its pool.
    for (const marker of [1, 2]) await lane.settle(sender.send(transfer(marker)).then((tx) => tx.wait()))
    const open = await lane.settle(sender.send(transfer(3)))
    nodeIs(false)
    await lane.clock.advance(4 * LEASE_MS)
    lane.script = ({ method, params }) =>
      method === 'eth_getTransactionCount' && params[1] === 'pending'
        ? { ok: true, result: '0x67' }
        : undefined
    nodeIs(true)
    const next = await lane.settle(sender.send(transfer(4), { until: 'queued' }))
    await lane.blocks(6)
    lane.script = undefined
    await lane.settle(Promise.all([open.wait(), next.wait()]))
    await lane.blocks(6)
    expect(lane.sent.map(({ nonce }) => nonce)).toEqual([0, 1, 2, 3])
  })

  test('after a clean close the next owner does not wait for the lease, and has the queued transactions', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    first.sender.pause()
    const left = await lane.settle(first.sender.send(transfer(1), { id: 'a', until: 'queued' }))
    const waiting = lane.rejection(left.wait())
    const tx = await lane.settle(second.sender.send(transfer(2), { until: 'queued' }))
    const atMs = lane.clock.now()
    await lane.settle(first.sender.close())
    expect(await waiting).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
    await lane.settle(tx.wait())
    expect(lane.clock.now() - atMs).toBeLessThan(LEASE_MS)
    expect(lane.executed()).toEqual([1, 2])
  })

  test('a sender that joins while an allocator of its process recovers the lane signs its transactions', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = [world.start(), world.start()]
    await lane.settle(first.sender.ready())
    const { client, lossDepth, limits } = lane.parameters
    const { address } = client.account as { address: Address }
    const { environment, store } = second
    const allocator = createNonceAllocatorIn(environment, {
      ...{ client, address, store, lossDepth, limits },
    } as never)
    expect(await lane.rejection(allocator.ready())).toMatchObject({ code: 'LEASE_LOST' })
    await lane.settle(first.sender.close())
    const { load } = store
    let answer: (() => void) | undefined
    store.load = async (lease) => {
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      return load(lease)
    }
    const ready = allocator.ready()
    await lane.until(() => answer !== undefined)
    const tx = await lane.settle(second.sender.send(transfer(1), { until: 'queued' }))
    answer?.()
    await lane.settle(ready)
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual([1])
    await lane.settle(allocator.close())
  })

  test('a stage that was reached before the takeover is emitted once, by the new owner', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    const lands = await lane.settle(second.sender.send(transfer(1), { until: 'queued' }))
    first.sender.pause()
    const expires = { atMs: lane.clock.wallNow() + 5_000 }
    const fails = await lane.settle(second.sender.send(transfer(2), { until: 'queued', expires }))
    const waiting = lane.rejection(fails.wait())
    // It has looked, and asks for the lane: the answer takes its time, and until then it hears nothing.
    const { acquire } = second.store
    let answer = () => {}
    const closed = new Promise<void>((resolve) => {
      answer = resolve
    })
    second.store.acquire = async (...given) => {
      await closed
      return acquire(...given)
    }
    await lane.clock.advance(20_000)
    await lane.settle(first.sender.close())
    expect([second.events('sealed'), second.events('failed')]).toEqual([[], []])
    answer()
    await lane.settle(lands.wait())
    expect(second.events('sealed').filter(({ tx }) => tx === lands)).toHaveLength(1)
    expect(second.events('failed')).toEqual([{ tx: fails, error: await waiting }])
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({ holder: true })
  })

  test('an idle lane moves at once to the next process that sends', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = [world.start(), world.start()]
    const tx = await lane.settle(first.sender.send(transfer(1)))
    await lane.settle(second.sender.ready())
    await lane.settle(tx.wait())
    await lane.clock.advance(60_000)
    expect(await lane.settle(first.sender.snapshot())).toMatchObject({ holder: false })
    const requests = lane.requests.length
    await lane.clock.advance(60_000)
    expect(lane.requests.length).toBe(requests)
    const next = await lane.settle(second.sender.send(transfer(2)))
    await lane.settle(next.wait())
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({ holder: true })
    await lane.settle((await lane.settle(first.sender.send(transfer(3)))).wait())
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('an owner whose node is gone hands the lane to a process that has a node', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    first.nodeIs(false)
    const tx = await lane.settle(first.sender.send(transfer(1), { until: 'queued' }))
    await lane.until(() => lane.executed().length > 0)
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({ holder: true })
    const waiting = tx.wait()
    first.nodeIs(true)
    expect(await lane.settle(waiting)).toMatchObject({ nonce: 0 })
    expect(lane.executed()).toEqual([1])
  })

  test('drain continues after the lane changes its owner', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    lane.script = swallow(1)
    await lane.settle(first.sender.send(transfer(1)))
    const drained = second.sender.drain()
    first.freeze()
    await lane.clock.advance(2 * LEASE_MS)
    lane.script = undefined
    await lane.settle(drained)
    expect(lane.executed()).toEqual([1])
  })

  test('a receipt is read again while no process walks the chain: a reorg may have removed its block', async () => {
    await using world = await openProcesses({ lossDepth: 5 })
    const { lane } = world
    const [first, second] = await world.pair()
    const tx = await lane.settle(second.sender.send(transfer(1)))
    const before = await lane.settle(tx.wait())
    first.freeze()
    lane.chain.reorg({ depth: 2, drops: () => true })
    lane.chain.seal()
    const after = await lane.settle(tx.wait())
    expect(after.receipt?.blockHash).not.toBe(before.receipt?.blockHash)
    expect(lane.executed()).toEqual([1])
  })

  test('a transaction removed by an owner that has lost the lane may have landed: its cancel reports that', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    first.sender.pause()
    const tx = await lane.settle(first.sender.send(transfer(1), { id: 'a', until: 'queued' }))
    first.freeze()
    await lane.clock.advance(2 * LEASE_MS)
    await lane.settle(second.sender.drain())
    first.thaw()
    const cancelled = tx.cancel()
    expect(tx.stage).toBe('queued')
    expect(await lane.settle(cancelled)).toMatchObject({ result: 'tooLate', landed: { nonce: 0 } })
    expect(lane.executed()).toEqual([1])
  })

  test('the new owner answers a cancel that was posted to the old owner', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first] = await world.pair()
    lane.script = swallow(1, 'noop')
    const tx = await lane.settle(first.sender.send(transfer(1)))
    const cancelling = tx.cancel()
    first.freeze()
    await lane.clock.advance(2 * LEASE_MS)
    first.thaw()
    lane.script = swallow(1)
    expect(await lane.settle(cancelling)).toEqual({ result: 'cancelled' })
    expect(lane.executed()).toEqual(['noop'])
  })

  test('a pause applies only to the process that called it', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    second.sender.pause()
    await lane.settle((await lane.settle(second.sender.send(transfer(1)))).wait())
    const tx = await lane.settle(second.sender.send(transfer(2), { until: 'queued' }))
    await lane.settle(first.sender.close())
    await lane.settle(tx.wait(), 20_000).catch(() => {})
    const last = await lane.settle(second.sender.send(transfer(3), { until: 'queued' }))
    await lane.clock.advance(20_000)
    expect(lane.executed()).not.toContain(3)
    second.sender.resume()
    await lane.settle(last.wait())
  })
})

test('a caller in a process that does not own the lane is notified of `safe`, long before finality', async () => {
  await using world = await openProcesses({ chain: { safeDepth: 4, finalizedDepth: 10_000 } })
  const { lane } = world
  const [, second] = await world.pair()
  const tx = await lane.settle(second.sender.send(transfer(1)))
  const { stage } = await lane.settle(tx.wait('safe'), 300_000)
  expect(stage).toBe('safe')
  expect(await lane.settle(second.sender.snapshot())).toMatchObject({ holder: false })
})
