import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hex, numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { counterLaneAddress } from '../allocator/countRecords.js'
import { storageNonce } from '../allocator/sources.js'
import { createNonceAllocatorIn, type NonceAllocator } from '../api/allocators/allocator.js'
import { openProcesses, type Process } from '../api/sender/processes.fixture.js'
import type { SimLaneOptions } from '../api/sender/simLane.fixture.js'
import { sqliteStore } from '../store/sqlite/index.js'
import type { Store } from '../types/store.js'

const CONTRACT = '0x00000000000000000000000000000000000000cc'
const LEASE_MS = 10_000
const LIMITS = { reservationTtlMs: 30_000, gapFillAfterMs: 5_000 }
const source = storageNonce({ address: CONTRACT, slot: 5n })

type Filler = (gap: { nonce: bigint }) => Promise<unknown>

/** Processes that assign the nonces of one contract, whose counter the test moves. */
async function openWorld(options: SimLaneOptions = {}) {
  const world = await openProcesses(options)
  const { lane } = world
  const contract = { count: 40n }
  const opened: NonceAllocator<bigint>[] = []
  const processes = new Set<Process>()
  lane.script = ({ method, params }) =>
    method === 'eth_getStorageAt' && params[0] === CONTRACT
      ? { ok: true, result: numberToHex(contract.count, { size: 32 }) }
      : undefined

  function allocatorOf(process: Process, options: { filler?: Filler; store?: Store } = {}) {
    const { client, lossDepth } = lane.parameters
    const allocator = createNonceAllocatorIn<bigint>(process.environment, {
      client: client as never,
      lossDepth,
      address: CONTRACT,
      source,
      store: process.store,
      limits: LIMITS,
      ...options,
    })
    const reported: string[] = []
    for (const event of ['used', 'foreign', 'gap', 'gapFilled', 'stuck', 'reorged'] as const)
      allocator.on(event, ({ nonce }) => void reported.push(`${event} ${nonce}`))
    allocator.on('error', ({ error }) => void reported.push(`error ${error.message}`))
    opened.push(allocator)
    processes.add(process)
    return Object.assign(allocator, { reported })
  }

  return {
    ...world,
    lane,
    contract,
    allocatorOf,
    async commit(allocator: NonceAllocator<bigint>, payload: Hex): Promise<bigint> {
      const reservation = await lane.settle(allocator.reserve())
      await lane.settle(reservation.commit({ payload }))
      return reservation.nonce
    },
    async [Symbol.asyncDispose]() {
      for (const { thaw, storeIs } of processes) {
        thaw()
        storeIs(true)
      }
      await lane.settle(Promise.all(opened.map((one) => one.close())))
      lane.script = undefined
      await world[Symbol.asyncDispose]()
    },
  }
}

describe('the counter of a contract, in a store that outlives its processes', () => {
  test('a committed nonce survives its process with its payload, and no other process assigns it again', async () => {
    await using world = await openWorld()
    const { lane, contract } = world
    const [first, second] = [world.start(), world.start()]
    const dead = world.allocatorOf(first)
    const reservations = await lane.settle(dead.reserveMany(4))
    await lane.settle(reservations[0]!.commit({ payload: '0x01' }))
    await lane.settle(reservations[2]!.commit({ payload: '0x03' }))
    await lane.settle(reservations[2]!.commit({ payload: '0x33' }))
    first.freeze()
    await lane.clock.advance(LEASE_MS + 5_000)
    const next = world.allocatorOf(second)
    await lane.settle(next.ready())
    expect(next.snapshot()).toMatchObject({
      durable: true,
      address: CONTRACT,
      slot: source.counter?.slot,
      outstanding: [
        { nonce: 40n, payloads: ['0x01'] },
        { nonce: 42n, payloads: ['0x03', '0x33'] },
      ],
      // Nothing was committed under the other reservations.
      holes: [41n],
      cursor: 43n,
    })
    const nonces = (await lane.settle(next.reserveMany(2))).map(({ nonce }) => nonce)
    expect(nonces).toEqual([41n, 43n])
    contract.count = 43n
    await lane.blocks(2)
    expect(next.reported).toEqual(['used 40', 'foreign 41', 'used 42'])
    first.thaw()
  })

  test('while one process assigns the nonces, LEASE_LOST rejects the calls of another', async () => {
    await using world = await openWorld()
    const { lane } = world
    const [first, second] = [world.start(), world.start()]
    const [owner, other] = [world.allocatorOf(first), world.allocatorOf(second)]
    await world.commit(owner, '0x01')
    for (const call of [() => other.reserve(), () => other.ready(), () => other.resync()])
      expect(await lane.rejection(call())).toMatchObject({ code: 'LEASE_LOST', fate: 'notExecuted' })
    await lane.settle(owner.close())
    expect(await world.commit(other, '0x02')).toBe(41n)
  })

  test('an owner that was suspended cannot commit a nonce that another process took meanwhile', async () => {
    await using world = await openWorld()
    const { lane } = world
    const [first, second] = [world.start(), world.start()]
    const asleep = world.allocatorOf(first)
    const reservation = await lane.settle(asleep.reserve())
    first.freeze()
    await lane.clock.advance(LEASE_MS + 5_000)
    const next = world.allocatorOf(second)
    expect(await world.commit(next, '0x02')).toBe(reservation.nonce)
    first.thaw()
    const refused = await lane.rejection(reservation.commit({ payload: '0x01' }))
    expect(refused).toMatchObject({ code: 'LEASE_LOST' })
    expect(next.snapshot().outstanding).toEqual([{ nonce: 40n, payloads: ['0x02'] }])
    expect(await lane.rejection(asleep.reserve())).toMatchObject({ code: 'LEASE_LOST' })
  })

  test('commit resolves once the payload is in the store, and not before', async () => {
    await using world = await openWorld()
    const { lane } = world
    const process = world.start()
    const allocator = world.allocatorOf(process)
    const reservation = await lane.settle(allocator.reserve())
    process.storeIs(false)
    let isCommitted = false
    const committing = reservation.commit({ payload: '0x01' }).then(() => {
      isCommitted = true
    })
    await lane.clock.advance(5_000)
    expect(isCommitted).toBe(false)
    process.storeIs(true)
    await lane.settle(committing)
  })

  test('an owner without counts in flight gives the counter back, and takes it again on request', async () => {
    await using world = await openWorld()
    const { lane, contract } = world
    const [first, second] = [world.start(), world.start()]
    const [owner, other] = [world.allocatorOf(first), world.allocatorOf(second)]
    await world.commit(owner, '0x01')
    await lane.clock.advance(60_000)
    expect(await lane.rejection(other.reserve())).toMatchObject({ code: 'LEASE_LOST' })
    contract.count = 41n
    // Beyond the horizon of reorgs.
    await lane.clock.advance(400_000)
    expect(await world.commit(other, '0x02')).toBe(41n)
    await lane.settle(other.close())
    expect(await world.commit(owner, '0x03')).toBe(42n)
  })

  describe('with finality 300 blocks away', () => {
    const FINAL_BLOCKS = 300
    const FAR_MS = 3_000_000

    /** Commits a nonce, lets a block use it, and runs the chain for so many more blocks. */
    async function usedAgo(blocks: number) {
      const world = await openWorld({ chain: { rules: 'geth', safeDepth: 60, finalizedDepth: FINAL_BLOCKS } })
      const { lane, contract } = world
      const allocator = world.allocatorOf(world.start())
      // The first block is final from the beginning.
      await lane.blocks(3)
      await world.commit(allocator, '0x01')
      contract.count = 41n
      await lane.until(() => allocator.reported.includes('used 40'))
      const used = lane.chain.head.number
      await lane.until(() => lane.chain.head.number >= used + blocks, FAR_MS)
      /** The use leaves the chain, as far as `other` sees it. */
      const fall = async (other: typeof allocator) => {
        await lane.settle(other.ready())
        const reservation = await lane.settle(other.reserve())
        await lane.blocks(2)
        contract.count = 40n
        lane.chain.reorg({ depth: 2 })
        await lane.blocks(4)
        return reservation.nonce
      }
      return { world, allocator, fall, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
    }

    test('a record stays as long as the tag has not passed its block, and the use can be taken back', async () => {
      await using ago = await usedAgo(FINAL_BLOCKS - 40)
      expect(await ago.fall(ago.allocator)).toBe(41n)
      expect(ago.allocator.reported).toEqual(['used 40', 'reorged 40'])
    })

    test('a process without counts in flight gives the counter back before, with the record', async () => {
      await using ago = await usedAgo(FINAL_BLOCKS - 40)
      const other = ago.world.allocatorOf(ago.world.start())
      expect(await ago.fall(other)).toBe(41n)
      expect(other.reported).toEqual(['reorged 40'])
      expect(other.snapshot().outstanding).toEqual([{ nonce: 40n, payloads: ['0x01'] }])
    })

    test('the record is deleted once the tag has passed its block', async () => {
      await using ago = await usedAgo(FINAL_BLOCKS - 40)
      const { lane } = ago.world
      // A later owner knows the block of the use, and the tag passes it under this owner.
      const other = ago.world.allocatorOf(ago.world.start())
      await ago.world.commit(other, '0x02')
      const from = lane.chain.head.number
      await lane.until(() => lane.chain.head.number >= from + 60, FAR_MS)
      await ago.fall(other)
      expect(other.reported).not.toContain('reorged 40')
    })
  })

  test('the filler is called for a nonce once the store has the record that it may be used', async () => {
    await using world = await openWorld()
    const { lane } = world
    const [first, second] = [world.start(), world.start()]
    const filled: bigint[] = []
    const filler = async ({ nonce }: { nonce: bigint }) => void filled.push(nonce)
    const allocator = world.allocatorOf(first, { filler })
    const [reservation] = await lane.settle(allocator.reserveMany(2))
    await lane.settle(reservation!.release())
    first.storeIs(false)
    await lane.clock.advance(LIMITS.gapFillAfterMs + 1_000)
    expect(filled).toEqual([])
    first.storeIs(true)
    await lane.until(() => filled.length > 0)
    expect(filled).toEqual([40n])
    first.freeze()
    await lane.clock.advance(LEASE_MS + 5_000)
    // The payload of the filler may be public.
    expect((await lane.settle(world.allocatorOf(second).reserve())).nonce).toBe(41n)
    first.thaw()
  })

  test('its lane is no account: no list and no search for unfinished work shows it', async () => {
    await using world = await openWorld()
    const { lane, shared } = world
    const process = world.start()
    await world.commit(world.allocatorOf(process), '0x01')
    const [genesisHash] = await shared.chains({ chainId: lane.chain.settings.chainId })
    const chain = { chainId: lane.chain.settings.chainId, genesisHash: genesisHash! }
    expect(await shared.list(chain, { limit: 10 })).toMatchObject({ items: [] })
    expect(await shared.unfinished(chain)).toEqual([])
    const [own, other] = [source.counter!, storageNonce({ address: CONTRACT, slot: 6n }).counter!]
    expect(counterLaneAddress(own)).toMatch(/^0x[0-9a-f]{40}$/)
    expect(new Set([CONTRACT, counterLaneAddress(own), counterLaneAddress(other)]).size).toBe(3)
  })

  test('the store lists the counter to every process: contract, nonces, owner and lease', async () => {
    await using world = await openWorld()
    const { lane, shared } = world
    const [first, second] = [world.start(), world.start()]
    const owner = world.allocatorOf(first)
    await world.commit(owner, '0x01')
    const chain = { chainId: lane.parameters.client.chain.id, genesisHash: lane.chain.canonical[0]!.hash }
    const [held, ...others] = await shared.counters(chain)
    expect(others).toEqual([])
    expect(held).toMatchObject({
      counter: { kind: 'storage', contract: CONTRACT, slot: source.counter?.slot },
      cursor: 41,
      slots: [{ nonce: 40, state: 'live' }],
      holder: expect.any(String),
    })
    expect(held?.leaseMs).toBeGreaterThan(0)
    expect(owner.snapshot()).toMatchObject({ holder: true })
    await lane.settle(owner.close())
    expect((await shared.counters(chain))[0]).toMatchObject({
      holder: undefined,
      leaseMs: undefined,
      cursor: 41,
    })
    const next = world.allocatorOf(second)
    await lane.settle(next.ready())
    expect((await shared.counters(chain))[0]?.holder).not.toBe(held?.holder)
  })

  test('with SQLite, a later process knows the payloads of an earlier one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'txlane-counter-'))
    await using world = await openWorld()
    const { lane } = world
    const stores = [1, 2].map(() => sqliteStore({ path: join(folder, 'lanes.db'), synchronous: 'NORMAL' }))
    // Loading the driver takes real time, which the virtual clock knows nothing of.
    for (const store of stores) await store.renew('nobody', 1)
    try {
      const [first, second] = [world.start(), world.start()]
      const before = world.allocatorOf(first, { store: stores[0]! })
      const payload = `0x${'ab'.repeat(300)}` as const
      const reservations = await lane.settle(before.reserveMany(3))
      await lane.settle(reservations[1]!.commit({ payload }))
      await lane.settle(before.close())
      const after = world.allocatorOf(second, { store: stores[1]! })
      await lane.settle(after.ready())
      expect(after.snapshot()).toMatchObject({
        durable: true,
        holes: [40n],
        cursor: 42n,
        outstanding: [{ nonce: 41n, payloads: [payload] }],
      })
      await lane.settle(after.close())
    } finally {
      await Promise.all(stores.map((store) => store.close()))
      await rm(folder, { recursive: true })
    }
  })
})

test('with a memory store the state stays in the process, and says so', async () => {
  await using world = await openWorld()
  const { lane, shared } = world
  const process = world.start()
  const store: Store = { ...shared, durable: false }
  const first = world.allocatorOf(process, { store })
  await world.commit(first, '0x01')
  expect(first.snapshot()).toMatchObject({ durable: false, inFlight: 1 })
  await lane.settle(first.close())
  const second = world.allocatorOf(process, { store })
  await lane.settle(second.ready())
  expect(second.snapshot().outstanding).toEqual([{ nonce: 40n, payloads: ['0x01'] }])
})
