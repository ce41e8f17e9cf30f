import type { Address } from 'viem'
import { describe, expect, test } from 'vitest'
import { createStubAccount } from '../../test/sim/stubAccount.js'
import { createNonceAllocatorIn } from '../api/allocators/allocator.js'
import { createPool } from '../api/pool/pool.js'
import { openProcesses } from '../api/sender/processes.fixture.js'
import { createMemberIn } from '../api/sender/sender.js'
import { ACCOUNT, nameOf, swallow, transfer } from '../api/sender/simLane.fixture.js'
import type { Tx } from '../types/index.js'

describe('P7: any process may send; the leader signs and broadcasts', () => {
  test('a transaction of a standby is accepted and sealed, with events and receipt in that process', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    expect(await lane.settle(leader.sender.snapshot())).toMatchObject({ holder: true })
    const tx = await lane.settle(standby.sender.send(transfer(1)))
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 0, hash: tx.hash, status: 'success' })
    expect(tx.attempts).toMatchObject([{ nonce: 0, hash: tx.hash }])
    expect(tx.attempts[0]?.fees).toMatchObject({ maxFeePerGas: expect.any(BigInt) })
    expect(lane.executed()).toEqual([1])
    const reported = standby.reported.map(({ event }) => event).filter((event) => event !== 'endpoint')
    expect(reported).toEqual(expect.arrayContaining(['queued', 'accepted', 'sealed']))
    expect(await lane.settle(standby.sender.snapshot())).toMatchObject({ holder: false, floor: 1, cursor: 1 })
  })

  test('a stage is emitted in every process: preconfirmed before sealed', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = [world.start(), world.start()]
    await lane.settle(leader.sender.ready())
    const tx = await lane.settle(standby.sender.send(transfer(1)))
    expect(await lane.settle(tx.wait('preconfirmed'))).toMatchObject({ stage: 'preconfirmed', hash: tx.hash })
    expect(await lane.settle(tx.wait('finalized'), 4_000_000)).toMatchObject({ stage: 'finalized' })
  })

  test('P1: the same id from two processes at once is one transaction, and both have it', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [one, other] = [world.start(), world.start()]
    await lane.settle(one.sender.ready())
    const both = ['a', 'b', 'c'].flatMap((id, marker) =>
      [one, other, other, one].map(({ sender }) => sender.send(transfer(marker + 1), { id })),
    )
    const sent = await lane.settle(Promise.all(both))
    const landed = await lane.settle(Promise.all(sent.map((tx) => tx.wait())))
    expect([...lane.executed()].sort()).toEqual([1, 2, 3])
    for (const [index, tx] of sent.entries()) {
      const first = Math.floor(index / 4) * 4
      expect(tx.hash).toBe(sent[first]?.hash)
      expect(landed[index]?.hash).toBe(landed[first]?.hash)
    }
  })

  test('an id that stands for another request is a conflict in every process, with nothing sent', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [one, other] = [world.start(), world.start()]
    await lane.settle(one.sender.send(transfer(1), { id: 'a' }))
    const conflict = await lane.rejection(other.sender.send(transfer(2), { id: 'a' }))
    expect(conflict).toMatchObject({ code: 'ID_CONFLICT', fate: 'notExecuted' })
    expect(lane.sent.map(nameOf)).not.toContain(2)
  })

  test('an id that has landed is that transaction, for a process that never saw it', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [one, other] = [world.start(), world.start()]
    const tx = await lane.settle(one.sender.send(transfer(1), { id: 'a' }))
    await lane.settle(tx.wait())
    await lane.blocks(3)
    const again = await lane.settle(other.sender.send(transfer(1), { id: 'a' }))
    expect(await lane.settle(again.wait())).toMatchObject({ hash: tx.hash })
    const found = await lane.settle(other.sender.get({ hash: tx.hash ?? '0x' }))
    expect(found?.id).toBe('a')
    expect(lane.executed()).toEqual([1])
  })

  test('a burst from four processes: each transaction executes once, without a gap', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const processes = [world.start(), world.start(), world.start(), world.start()]
    await lane.settle(Promise.all(processes.map(({ sender }) => sender.ready())))
    const markers = Array.from({ length: 80 }, (_, index) => index + 1)
    const sent = await lane.settle(
      Promise.all(
        markers.map((marker) => processes[marker % 4]?.sender.send(transfer(marker)) as Promise<Tx>),
      ),
    )
    await lane.settle(Promise.all(sent.map((tx) => tx.wait())))
    expect([...lane.executed()].sort((a, b) => Number(a) - Number(b))).toEqual(markers)
  })
})

describe('a pool of keys in several processes', () => {
  test('P1: the same id from two processes at once is one transaction, for either key that got it first', async () => {
    const accounts = ['aa', 'bb'].map((end) => `0x${'0'.repeat(38)}${end}` as const)
    const balanceWei = 10n ** 18n
    await using world = await openProcesses({
      chain: { accounts: accounts.map((address) => ({ address, nonce: 0, balanceWei })) } as never,
    })
    const { lane } = world
    const pools = [world.start(), world.start()].map(({ environment, store }, turned) => {
      const make = ({ address }: { address: Address }) =>
        createMemberIn(environment, {
          ...lane.parameters,
          store,
          account: createStubAccount(address, { clock: lane.clock, delayMs: () => 0 }),
        })
      const members = accounts.map((address) => make({ address }))
      return createPool(turned === 0 ? members : members.reverse(), { make })
    })
    const ids = ['a', 'b', 'c', 'd']
    const sent = await lane.settle(
      Promise.all(ids.flatMap((id, index) => pools.map((pool) => pool.send(transfer(index + 1), { id })))),
    )
    const landed = await lane.settle(Promise.all(sent.map((tx) => tx.wait())))
    for (const index of ids.keys()) expect(landed[2 * index + 1]?.hash).toBe(landed[2 * index]?.hash)
    const executed = lane.chain.canonical.flatMap((block) => block.executed.map(({ tx }) => nameOf(tx)))
    expect(executed.sort()).toEqual([1, 2, 3, 4])
    const conflict = await lane.rejection(pools[1]?.send(transfer(9), { id: 'a' }) ?? Promise.reject())
    expect(conflict).toMatchObject({ code: 'ID_CONFLICT', fate: 'notExecuted' })
    await lane.settle(Promise.all(pools.map((pool) => pool.close())))
  })
})

describe('the commands of a standby for a transaction', () => {
  async function withGuest() {
    const world = await openProcesses()
    const [leader, standby] = await world.pair()
    return {
      world,
      lane: world.lane,
      leader,
      standby,
      [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
    }
  }

  test('cancel of a waiting transaction: removed, and nothing is sent', async () => {
    await using here = await withGuest()
    const { lane, leader, standby } = here
    leader.sender.pause()
    const tx = await lane.settle(standby.sender.send(transfer(1), { until: 'queued' }))
    const waiting = lane.rejection(tx.wait())
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'removed' })
    const error = await waiting
    expect(error).toMatchObject({
      code: 'CANCELLED',
      fate: 'notExecuted',
      tx: { id: tx.id, stage: 'cancelled' },
    })
    expect(standby.events('cancelled')).toHaveLength(1)
    expect(standby.events('cancelled')[0]).toMatchObject({ tx, error })
    expect(lane.executed()).toEqual([])
  })

  test('cancel of a broadcast transaction: a no-op takes its nonce', async () => {
    await using here = await withGuest()
    const { lane, standby } = here
    lane.script = swallow(1)
    const tx = await lane.settle(standby.sender.send(transfer(1)))
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'cancelled' })
    expect(lane.executed()).toEqual(['noop'])
  })

  test('cancel of a landed transaction: too late, with its receipt', async () => {
    await using here = await withGuest()
    const { lane, standby } = here
    const tx = await lane.settle(standby.sender.send(transfer(1)))
    await lane.settle(tx.wait())
    expect(await lane.settle(tx.cancel())).toMatchObject({ result: 'tooLate', landed: { hash: tx.hash } })
  })

  test('replace: the replacement alone executes, at the same nonce', async () => {
    await using here = await withGuest()
    const { lane, standby } = here
    lane.script = swallow(1)
    const tx = await lane.settle(standby.sender.send(transfer(1)))
    const other = await lane.settle(tx.replace(transfer(2)))
    expect(await lane.settle(other.wait())).toMatchObject({ nonce: 0 })
    expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'SUPERSEDED', fate: 'notExecuted' })
    expect(lane.executed()).toEqual([2])
  })

  test('speedUp: new bytes with higher fees, and the hash of the newest bytes', async () => {
    await using here = await withGuest()
    const { lane, standby } = here
    lane.script = swallow(1)
    const tx = await lane.settle(standby.sender.send(transfer(1)))
    const before = tx.hash
    await lane.settle(tx.speedUp({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }))
    await lane.until(() => tx.hash !== before)
    lane.script = undefined
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 0, hash: tx.hash })
  })

  test('a signal: the caller is notified at once, and a waiting transaction is not sent', async () => {
    await using here = await withGuest()
    const { lane, leader, standby } = here
    leader.sender.pause()
    const controller = new AbortController()
    const sending = lane.rejection(standby.sender.send(transfer(1), { id: 'a', signal: controller.signal }))
    await lane.clock.advance(500)
    controller.abort()
    expect(await sending).toMatchObject({ code: 'ABORTED', fate: 'inFlight' })
    await lane.until(() => standby.events('failed').length > 0)
    leader.sender.resume()
    await lane.blocks(3)
    expect(lane.executed()).toEqual([])
  })

  test('a deadline is kept by the leader', async () => {
    await using here = await withGuest()
    const { lane, leader, standby } = here
    leader.sender.pause()
    const expires = { atMs: lane.clock.wallNow() + 3_000 }
    const sending = lane.rejection(standby.sender.send(transfer(1), { expires }))
    expect(await sending).toMatchObject({ code: 'EXPIRED', fate: 'notExecuted' })
  })

  test('drain waits for the transactions of all processes', async () => {
    await using here = await withGuest()
    const { lane, leader, standby } = here
    const sent = await lane.settle(leader.sender.send(transfer(1)))
    await lane.settle(standby.sender.send(transfer(2)))
    await lane.settle(standby.sender.drain())
    expect(sent.stage).toBe('sealed')
    expect(lane.executed()).toEqual([1, 2])
  })

  test('an allocator hands out nonces only in the process that owns the lane', async () => {
    await using here = await withGuest()
    const { lane, standby } = here
    const allocator = createNonceAllocatorIn(standby.environment, {
      client: lane.parameters.client,
      store: standby.store,
      address: ACCOUNT,
    } as never)
    expect(await lane.rejection(allocator.reserve())).toMatchObject({ code: 'LEASE_LOST' })
    await lane.settle(allocator.close())
  })

  test('P8: a reservation that waits under a hold ends when the lane moves to another process', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    const allocator = createNonceAllocatorIn(first.environment, {
      client: lane.parameters.client,
      store: first.store,
      address: ACCOUNT,
    } as never)
    await lane.settle(allocator.ready())
    first.sender.pause()
    const reserved = lane.rejection(allocator.reserve())
    await lane.clock.advance(100)
    first.freeze()
    const tx = await lane.settle(second.sender.send(transfer(1), { until: 'queued' }))
    await lane.settle(tx.wait())
    first.thaw()
    expect(await reserved).toMatchObject({ code: 'LEASE_LOST', fate: 'notExecuted' })
    await lane.settle(allocator.close())
  })

  test('P8: a lane that an allocator opened without a key sends waiting transactions as soon as a sender joins', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = [world.start(), world.start()]
    first.sender.pause()
    await lane.settle(first.sender.send(transfer(1), { id: 'a', until: 'queued' }))
    await lane.settle(first.sender.close())
    const allocator = createNonceAllocatorIn(second.environment, {
      client: lane.parameters.client,
      store: second.store,
      address: ACCOUNT,
      lossDepth: lane.parameters.lossDepth,
      limits: lane.parameters.limits,
    } as never)
    await lane.settle(allocator.ready())
    await lane.blocks(2)
    expect(lane.executed()).toEqual([])
    await lane.settle(second.sender.ready())
    await lane.settle(second.sender.drain())
    expect(lane.executed()).toEqual([1])
    await lane.settle(allocator.close())
  })
})

test('a receipt of a pre-confirmed transaction does not count as sealed, for any record in the store', async () => {
  await using processes = await openProcesses()
  const { lane } = processes
  const first = processes.start()
  const tx = await lane.settle(first.sender.send(transfer(1)))
  await lane.settle(tx.wait('sealed'))
  first.freeze()
  // Its block leaves, and it stands in none but the one that is being built.
  lane.chain.reorg({ depth: 1, inclusion: 0 })
  const second = processes.start()
  const found = await lane.settle(second.sender.get(tx.id))

  await lane.settle(found?.wait('sealed') as Promise<unknown>)
  expect(lane.executed()).toEqual([1])
})
