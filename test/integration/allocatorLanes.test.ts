import { expect, test, vi } from 'vitest'
import { createNonceAllocator, createSender, memoryStore } from '../../src/index.js'
import { allocatorWorld } from './allocatorSupport.js'
import { rpc, sign } from './devnetSupport.js'

const world = allocatorWorld()
const { fresh, allocatorOf, senderOf, submit, opened } = world

test('an allocator and a sender of one account never use one nonce twice', async () => {
  const account = fresh()
  const allocator = allocatorOf(account)
  const sender = senderOf(account)
  async function outside(): Promise<number> {
    const reservation = await allocator.reserve()
    const raw = await sign(world.devnet, account, reservation.nonce)
    await reservation.commit({ serializedTransaction: raw })
    await submit(raw)
    await reservation.settle()
    return reservation.nonce
  }
  async function inside(): Promise<number> {
    const tx = await sender.send({ to: account.address, gas: 21_000n })
    const landed = await tx.wait('sealed')
    return landed.nonce
  }
  const nonces = await Promise.all(Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? outside() : inside())))
  expect(nonces.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n))
  await sender.drain()
  expect(allocator.snapshot()).toMatchObject({ floor: 30, cursor: 30 })
})

test('the lane outlives the allocator or sender that opened it', async () => {
  const account = fresh()
  const first = createSender({ client: world.devnet.client(), account, lossDepth: 'child' })
  await first.ready()
  const allocator = allocatorOf(account)
  await allocator.ready()
  await first.close()
  const reservation = await allocator.reserve()
  const raw = await sign(world.devnet, account, reservation.nonce)
  await reservation.commit({ serializedTransaction: raw })
  await submit(raw)
  await vi.waitFor(() => expect(allocator.snapshot().floor).toBe(1), { timeout: 10_000 })
})

test('a caller that opens a closing lane again waits until it has closed', async () => {
  const account = fresh()
  const first = allocatorOf(account)
  expect((await first.reserve()).nonce).toBe(0)
  const closing = first.close()
  expect((await allocatorOf(account).reserve()).nonce).toBe(1)
  await closing
})

test('a second copy of the package shares the lane', async () => {
  const account = fresh()
  const first = allocatorOf(account)
  await first.ready()
  vi.resetModules()
  const copy = await import('../../src/index.js')
  expect(copy.createNonceAllocator).not.toBe(createNonceAllocator)
  const second = copy.createNonceAllocator({ client: world.devnet.client(), address: account.address })
  opened.push(second)
  const all = await Promise.all([first.reserve(), second.reserve(), first.reserve(), second.reserve()])
  expect(all.map((one) => one.nonce).sort()).toEqual([0, 1, 2, 3])
})

test('an allocator with its own store has its own lane', async () => {
  const account = fresh()
  const first = allocatorOf(account)
  const second = allocatorOf(account, { store: memoryStore() })
  expect([(await first.reserve()).nonce, (await second.reserve()).nonce]).toEqual([0, 0])
})

test('bytes of an earlier life are adopted at their own nonce', async () => {
  const account = fresh()
  const allocator = allocatorOf(account, { limits: { stuckAfterMs: 200, stuckAfterBlocks: 1 } })
  await allocator.adopt(await sign(world.devnet, account, 0))
  expect((await allocator.reserve()).nonce).toBe(1)
  await vi.waitFor(() => expect(allocator.snapshot().floor).toBe(1), { timeout: 10_000 })
  await expect(sign(world.devnet, account, 100_000).then(allocator.adopt)).rejects.toMatchObject({
    code: 'INVALID',
  })
})

test('bytes whose nonce was used before are not adopted', async () => {
  const account = fresh()
  const raw = await sign(world.devnet, account, 0)
  await submit(raw)
  await vi.waitFor(async () => {
    expect(await rpc(world.devnet.url, 'eth_getTransactionCount', account.address, 'latest')).toBe('0x1')
  }, 10_000)
  const allocator = allocatorOf(account, { coldStart: 'immediate' })
  await expect(allocator.adopt(raw)).rejects.toMatchObject({ code: 'TOO_LATE', fate: 'inFlight' })
  expect((await allocator.reserve()).nonce).toBe(1)
})

test('an aborted reservation takes no nonce, and a closed allocator reserves none', async () => {
  const allocator = allocatorOf(fresh())
  const aborted = AbortSignal.abort()
  await expect(allocator.reserve({ signal: aborted })).rejects.toMatchObject({
    code: 'ABORTED',
    fate: 'notExecuted',
  })
  const controller = new AbortController()
  const waiting = allocator.reserve({ signal: controller.signal })
  controller.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' })
  expect((await allocator.reserve()).nonce).toBe(0)
  await allocator.close()
  await expect(allocator.reserve()).rejects.toMatchObject({ code: 'CLOSED', fate: 'notExecuted' })
})

test('invalid options are refused at once', () => {
  const client = world.devnet.client()
  const { address } = world.devnet.accounts[0]!
  expect(() => createNonceAllocator({ client, address: '0x12' })).toThrow('address')
  expect(() => createNonceAllocator({ client: { ...client, chain: undefined } as never, address })).toThrow(
    'chain',
  )
  expect(() => createNonceAllocator({ client, address, source: {} as never })).toThrow('source')
  expect(() => createNonceAllocator({ client, address, limits: { windowMax: 0 } })).toThrow(
    'limits.windowMax',
  )
  expect(() => createNonceAllocator(undefined as never)).toThrow('options')
})

test('reservations above the limit are refused', async () => {
  const allocator = allocatorOf(fresh(), { limits: { windowMax: 4 } })
  await allocator.reserveMany(3)
  await expect(allocator.reserveMany(2)).rejects.toMatchObject({ code: 'QUEUE_FULL', fate: 'notExecuted' })
  await expect(allocator.reserveMany(5)).rejects.toMatchObject({ code: 'INVALID' })
  expect((await allocator.reserve()).nonce).toBe(3)
})
