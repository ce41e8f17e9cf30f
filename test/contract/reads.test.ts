import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blockTags } from '../../src/rpc/codec.js'
import { getBlockByNumber } from '../../src/rpc/methods/getBlockByNumber.js'
import { getBlockReceipts } from '../../src/rpc/methods/getBlockReceipts.js'
import { waitForCode, waitForStorage, watchPending } from '../../src/rpc/methods/polls.js'
import { readLane } from '../../src/rpc/methods/readLane.js'
import { readPorts } from '../../src/rpc/methods/source.js'
import { getCode, getStorageAt, getTransactionCount } from '../../src/rpc/methods/state.js'
import { profileOf } from '../../src/rpc/profile.js'
import { anvilWorld, devnetWorld, type ReadWorld, scriptedWorld } from './readWorlds.js'

const worlds: Record<string, () => Promise<ReadWorld>> = {
  'a server that answers as documented': scriptedWorld,
  anvil: anvilWorld,
  'the devnet': devnetWorld,
}
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`

// One scenario for each world, in order: nothing sent, pre-confirmed, sealed.
describe.each(Object.entries(worlds))('the reads against %s', (_, start) => {
  let world: ReadWorld
  beforeAll(async () => {
    world = await start()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test.each([...blockTags, '0x0', 0n, 0] as const)('take the selector %s in each method', async (block) => {
    const { client, account: address } = world
    expect(await getTransactionCount(client, { address, block })).toBe(0)
    expect(await getCode(client, { address, block })).toBe('0x')
    expect(await getStorageAt(client, { address, slot: 0, block })).toBe(word(0))
    expect(await getBlockByNumber(client, { block })).toMatchObject({ transactions: [] })
    if (block !== 'pending' || world.pendingReceipts)
      expect(await getBlockReceipts(client, { block })).toEqual([])
  })

  test('answer null for an unknown block', async () => {
    expect(await getBlockByNumber(world.client, { block: 2n ** 40n })).toBeNull()
    expect(await getBlockByNumber(world.client, { block: '0xffffffffff', fullTransactions: true })).toBeNull()
  })

  test('show the pre-confirmed state at `pending`, and only there', async () => {
    const { client, account, contract: address } = world
    const code = waitForCode(client, { address, pollingIntervalMs: 20 })
    const storage = waitForStorage(client, {
      address,
      slot: 0,
      value: (value) => value === word(42),
      pollingIntervalMs: 20,
    })
    const blocks: number[] = []
    const stop = watchPending(client, {
      intervalMs: 20,
      onBlock: ({ transactions }) => blocks.push(transactions.length),
    })
    const hash = await world.preconfirm()
    expect(await code).toBe('0x01')
    expect(await storage).toBe(word(42))
    await expect.poll(() => blocks.at(-1)).toBe(1)
    stop()

    expect(await getTransactionCount(client, { address: account, block: 'pending' })).toBe(1)
    expect(await getTransactionCount(client, { address: account, block: 'latest' })).toBe(0)
    expect(await getCode(client, { address, block: 'latest' })).toBe('0x')
    expect(await getStorageAt(client, { address, slot: '0x0', block: 'latest' })).toBe(word(0))
    expect(await getBlockByNumber(client, { block: 'pending' })).toMatchObject({ transactions: [hash] })
    const full = await getBlockByNumber(client, { block: 'pending', fullTransactions: true })
    expect(full?.transactions).toMatchObject([{ hash }])
    expect((await getBlockByNumber(client, { block: 'latest' }))?.transactions).toEqual([])
  })

  test('show the pre-confirmed state by calls, if plain reads at `pending` are said to answer as for `latest`', async () => {
    const { client, contract: address } = world
    const [port] = readPorts(client)
    profileOf(port!).observe({ kind: 'pendingState', usable: false })
    expect(await getCode(client, { address, block: 'pending' })).toBe('0x01')
    expect(await getStorageAt(client, { address, slot: 0, block: 'pending' })).toBe(word(42))
    profileOf(port!).observe({ kind: 'pendingState', usable: true })
  })

  test('show the receipts of the pending block if the node has them, else null', async () => {
    const receipts = await getBlockReceipts(world.client, { block: 'pending' })
    if (world.pendingReceipts) expect(receipts).toMatchObject([{ blockNumber: 1n, status: 'success' }])
    else expect(receipts).toBeNull()
  })

  test('read a lane as one snapshot', async () => {
    const { client, account, contract } = world
    const lane = await readLane(client, { address: account, slots: [{ address: contract, slot: 0n }] })
    expect(lane).toMatchObject({
      latest: { header: { number: 0 }, count: 0, code: '0x', storage: [word(0)] },
      pending: { header: { number: 1 }, count: 1, code: '0x', storage: [word(42)] },
      account: { kind: 'plain' },
    })
  })

  test('show the sealed state at `latest`', async () => {
    const { client, account, contract: address } = world
    await world.seal()
    expect(await getTransactionCount(client, { address: account, block: 'latest' })).toBe(1)
    expect(await getCode(client, { address, block: 'latest' })).toBe('0x01')
    expect(await getStorageAt(client, { address, slot: 0n, block: 1n })).toBe(word(42))
    const block = await getBlockByNumber(client, { block: 1 })
    expect(block).toMatchObject({
      number: 1n,
      hash: expect.stringMatching(/^0x/),
      gasUsed: expect.any(BigInt),
    })
    expect(await getBlockReceipts(client, { block: '0x1' })).toMatchObject([
      { transactionHash: block?.transactions[0], blockNumber: 1n, status: 'success', type: 'eip1559' },
    ])
  })
})
