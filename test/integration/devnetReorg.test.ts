import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { rpc, sent } from './devnetSupport.js'

type Block = { number: Hex; hash: Hex; parentHash: Hex; transactions: Hex[] }

const block = (devnet: Devnet, selector: string) =>
  rpc<Block>(devnet.url, 'eth_getBlockByNumber', selector, false)

async function chainOf(devnet: Devnet): Promise<Hex[]> {
  const head = Number((await block(devnet, 'latest')).number)
  const numbers = Array.from({ length: head + 1 }, (_, number) => `0x${number.toString(16)}`)
  return (await Promise.all(numbers.map((number) => block(devnet, number)))).map(({ hash }) => hash)
}

/** Three sealed blocks with one transfer each, and one in the block being built. */
async function grown(devnet: Devnet): Promise<Hex[]> {
  const hashes: Hex[] = []
  for (let nonce = 0; nonce < 4; nonce += 1) {
    hashes.push(await sent(devnet, devnet.accounts[0]!, nonce))
    if (nonce < 3) await devnet.seal()
    else await devnet.stepFlashblock()
  }
  return hashes
}

const count = (devnet: Devnet, tag: string) =>
  rpc<Hex>(devnet.url, 'eth_getTransactionCount', devnet.accounts[0]!.address, tag).then(Number)

describe('a reorganisation on the devnet', () => {
  test('replaces the newest blocks by others that link to the kept one, without a falling head', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    await grown(devnet)
    const before = await chainOf(devnet)
    await devnet.reorg(2)
    const after = await chainOf(devnet)
    expect(after.length).toBe(before.length)
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2))
    expect(after[2]).not.toBe(before[2])
    expect(after[3]).not.toBe(before[3])
    expect((await block(devnet, '0x3')).parentHash).toBe(after[2])
    expect((await block(devnet, '0x2')).parentHash).toBe(before[1])
    expect(await rpc(devnet.url, 'eth_getBlockByHash', before[3], false)).toBeNull()
  })

  test('returns the removed transactions to the pool, and the next flashblock includes them', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const hashes = await grown(devnet)
    await devnet.reorg(2)
    expect((await devnet.pool()).map(({ hash }) => hash)).toEqual(hashes.slice(1))
    expect(await count(devnet, 'latest')).toBe(1)
    expect(await rpc(devnet.url, 'eth_getTransactionReceipt', hashes[1])).toBeNull()
    await devnet.stepFlashblock()
    expect((await block(devnet, 'pending')).transactions).toEqual(hashes.slice(1))
    expect(await count(devnet, 'pending')).toBe(4)
  })

  test('drops them with returnToPool: false', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const hashes = await grown(devnet)
    await devnet.reorg(1, { returnToPool: false })
    expect(await devnet.pool()).toEqual([])
    await devnet.seal()
    expect(await count(devnet, 'latest')).toBe(2)
    expect(await rpc(devnet.url, 'eth_getTransactionByHash', hashes[2])).toBeNull()
  })

  test('lets the head fall if no block replaces the removed ones', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    await grown(devnet)
    await devnet.reorg(2, { replacementBlocks: 0 })
    expect(await rpc(devnet.url, 'eth_blockNumber')).toBe('0x1')
    expect(await count(devnet, 'pending')).toBe(1)
  })

  test('of the same height twice makes three different blocks', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const hashes = new Set([(await devnet.seal()).hash])
    for (let times = 0; times < 2; times += 1) {
      await devnet.reorg(1)
      hashes.add((await block(devnet, 'latest')).hash)
    }
    expect(hashes.size).toBe(3)
  })

  test('deeper than the chain is refused', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    await devnet.seal()
    await expect(devnet.reorg(2)).rejects.toMatchObject({ code: 'INVALID' })
    expect(await rpc(devnet.url, 'eth_blockNumber')).toBe('0x1')
  })

  test("under anvil's own pool works the same", async () => {
    await using devnet = await startDevnet({ mining: 'manual', rules: 'anvil', flashblockMs: 200 })
    const hashes = await grown(devnet)
    await devnet.reorg(2)
    expect((await devnet.pool()).map(({ hash }) => hash).sort()).toEqual(hashes.slice(1).sort())
    await devnet.seal()
    expect(await count(devnet, 'latest')).toBe(4)
  })
})
