import { type Address, type Hex, numberToHex } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createNonceAllocator, memoryStore, storageNonce } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'

let devnet: Devnet
let contract: Address
const opened: { close(): Promise<void> }[] = []
// One store per test: an outstanding nonce stays so for every later allocator of the same counter.
let store = memoryStore()

// Stores its argument at slot 0. Each test defines the slot's meaning.
const STORING: Hex = '0x600f8060095f395ff36004358015600b575f55005b5f5ffd'

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
  const client = devnet.client()
  const hash = await client.deployContract({ abi: [], bytecode: STORING })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  contract = contractAddress as Address
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
  store = memoryStore()
})
afterAll(() => devnet.stop())

/**
 * Sets the counter of the contract, and returns the block of the change, once sealed. viem accepts a
 * pre-confirmed receipt, but an allocator's first reading also uses `latest`.
 */
async function countTo(count: number): Promise<bigint> {
  const client = devnet.client()
  const data = `0x00000000${numberToHex(count, { size: 32 }).slice(2)}` as const
  const hash = await client.sendTransaction({ to: contract, data, gas: 100_000n })
  const { blockNumber } = await client.waitForTransactionReceipt({ hash })
  await devnet.seal()
  return blockNumber
}

function allocatorOf(options: { slot?: bigint } = {}) {
  const allocator = createNonceAllocator({
    client: devnet.client(),
    address: contract,
    source: storageNonce({ address: contract, slot: options.slot ?? 0n }),
    store,
  })
  opened.push(allocator)
  return allocator
}

test('nonces of a counter in storage continue from its value, in one sequence for the process', async () => {
  await countTo(40)
  const reads = () => devnet.stats.byMethod.eth_getStorageAt ?? 0
  const before = reads()
  const [a, b] = [allocatorOf(), allocatorOf()]
  const all = await Promise.all([a.reserve(), b.reserve(), a.reserveMany(2), b.reserve()])
  expect(
    all
      .flat()
      .map(({ nonce }) => nonce)
      .sort(),
  ).toEqual([40n, 41n, 42n, 43n, 44n])
  // One reading, at latest and at pending; the next one belongs to a tick.
  expect(reads() - before).toBeLessThanOrEqual(4)
})

test('a committed nonce stays taken until the counter has passed it', async () => {
  await countTo(50)
  const allocator = allocatorOf()
  const [first, second] = await allocator.reserveMany(2)
  await first?.commit({ payload: '0x1234' })
  await first?.settle(new Error('execution reverted'))
  await expect(first?.release()).rejects.toMatchObject({ code: 'TOO_LATE', fate: 'inFlight' })
  await second?.release()
  expect((await allocator.reserve()).nonce).toBe(51n)
  await countTo(51)
  await allocator.resync()
  expect(allocator.snapshot()).toMatchObject({
    floor: 51n,
    cursor: 52n,
    inFlight: 1,
    durable: false,
    chainId: devnet.chain.id,
  })
})

test('an outstanding nonce stays so when its allocator closes, and for each later allocator of the counter', async () => {
  await countTo(70)
  const first = allocatorOf()
  const [, second] = await first.reserveMany(3)
  await second?.commit({ payload: '0x12' })
  await first.close()
  const next = allocatorOf()
  expect((await next.reserve()).nonce).toBe(73n)
  expect(next.snapshot()).toMatchObject({ floor: 70n, inFlight: 4 })
})

test('a payload of an earlier life is adopted at its nonce, and the nonces below it are handed out', async () => {
  await countTo(80)
  const allocator = allocatorOf()
  await allocator.adopt({ nonce: 81n, payload: '0x12' })
  await expect(allocator.adopt({ nonce: 79n, payload: '0x12' })).rejects.toMatchObject({ code: 'TOO_LATE' })
  const nonces = (await allocator.reserveMany(2)).map(({ nonce }) => nonce)
  expect(nonces).toEqual([80n, 82n])
})

test('counters in other slots and other stores are independent', async () => {
  await countTo(60)
  const isolated = createNonceAllocator({
    client: devnet.client(),
    address: contract,
    source: storageNonce({ address: contract, slot: 0n }),
    store: memoryStore(),
  })
  opened.push(isolated)
  const nonces = await Promise.all(
    [allocatorOf(), allocatorOf({ slot: 1n }), isolated].map((one) => one.reserve()),
  )
  expect(nonces.map(({ nonce }) => nonce)).toEqual([60n, 0n, 60n])
})

test('a use whose block leaves the chain is reported, and is live again until the counter passes it once more', async () => {
  await countTo(90)
  const allocator = allocatorOf()
  const next = (event: 'used' | 'reorged') =>
    new Promise<bigint>((resolve) => {
      const off = allocator.on(event, ({ nonce }) => {
        off()
        resolve(nonce)
      })
    })
  const [used, reorged] = [next('used'), next('reorged')]
  const reservation = await allocator.reserve()
  await reservation.commit({ payload: '0x12' })
  const block = await countTo(91)
  expect(await used).toBe(90n)
  // One more, because the next block may be sealed meanwhile.
  const depth = (await devnet.client().getBlockNumber()) - block + 2n
  await devnet.reorg(Number(depth), { returnToPool: false })
  expect(await reorged).toBe(90n)
  expect((await allocator.reserve()).nonce).toBe(91n)
  const again = next('used')
  await countTo(91)
  expect(await again).toBe(90n)
})

test('a request that a counter cannot serve is refused', async () => {
  const allocator = allocatorOf({ slot: 2n })
  expect(() => allocator.snapshot()).toThrow('ready()')
  const reservation = await allocator.reserve()
  await expect(reservation.commit({ payload: 'text' as never })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(allocator.adopt('0x12' as never)).rejects.toMatchObject({ code: 'INVALID' })
  await expect(allocator.adopt({ nonce: 9_999n, payload: '0x' })).rejects.toMatchObject({ code: 'INVALID' })
  expect(() => allocator.on('sealed' as never, () => {})).toThrow('event')
  const client = devnet.client()
  expect(() => createNonceAllocator({ client, address: contract, filler: async () => {} })).toThrow('filler')
  await allocator.close()
  await expect(allocator.reserve()).rejects.toMatchObject({ code: 'CLOSED', fate: 'notExecuted' })
})
