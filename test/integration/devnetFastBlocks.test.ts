import { createPublicClient, type Hex, http, webSocket } from 'viem'
import { chainConfig } from 'viem/op-stack'
import { describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { askAll, DEPLOY, listen, rpc, sent, sign } from './devnetSupport.js'

const MANUAL = { mode: 'fastBlocks', mining: 'manual' } as const
const L1_BLOCK = '0x4200000000000000000000000000000000000015'
const BASE_TIME = '0x4200000000000000000000000000000000000030'

type Tx = {
  hash: Hex
  type: Hex
  to: Hex
  transactionIndex: Hex
  blockHash: Hex
  blockNumber: Hex
  blockTimestampMs: Hex
}
type Block<tx = Hex> = {
  number: Hex
  hash: Hex
  parentHash: Hex
  gasUsed: Hex
  timestamp: Hex
  timestampMs?: Hex
  transactions: tx[]
}
type Receipt = {
  transactionHash: Hex
  transactionIndex: Hex
  type: Hex
  gasUsed: Hex
  cumulativeGasUsed: Hex
  logs: { blockTimestampMs: Hex; transactionIndex: Hex; logIndex: Hex }[]
}

const block = <tx = Hex>(devnet: Devnet, selector: string, full = false) =>
  rpc<Block<tx>>(devnet.url, 'eth_getBlockByNumber', selector, full)

describe('a chain with canonical blocks of 200 ms', () => {
  test('five consecutive blocks share a timestamp in whole seconds; timestampMs grows by 200 with each', async () => {
    await using devnet = await startDevnet(MANUAL)
    const blocks = [await block(devnet, '0x0')]
    for (let number = 1; number <= 12; number += 1) {
      await devnet.stepFlashblock()
      blocks.push(await block(devnet, 'latest'))
    }
    const start = Number(blocks[0]?.timestamp)
    expect(blocks.map(({ timestamp }) => Number(timestamp) - start)).toEqual([
      0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2,
    ])
    expect(blocks.map(({ timestampMs }) => Number(timestampMs) - start * 1_000)).toEqual(
      blocks.map((_, index) => index * 200),
    )
  })

  test('each block begins with two deposits that every method shows in the same place', async () => {
    await using devnet = await startDevnet(MANUAL)
    const hash = await sent(devnet, devnet.accounts[0]!, 0, DEPLOY)
    const sealed = await devnet.seal()
    await devnet.seal()
    const { transactions } = await block(devnet, '0x1')
    const { transactions: full, gasUsed } = await block<Tx>(devnet, '0x1', true)
    expect(full.map(({ type, to }) => [type, to])).toEqual([
      ['0x7e', L1_BLOCK],
      ['0x7e', BASE_TIME],
      ['0x2', null],
    ])
    expect(full.map((one) => one.hash)).toEqual(transactions)
    expect(transactions[2]).toBe(hash)
    const receipts = await rpc<Receipt[]>(devnet.url, 'eth_getBlockReceipts', '0x1')
    expect(receipts.map(({ transactionHash }) => transactionHash)).toEqual(transactions)
    expect(receipts.map(({ transactionIndex }) => transactionIndex)).toEqual(['0x0', '0x1', '0x2'])
    let total = 0
    for (const { gasUsed: own, cumulativeGasUsed } of receipts) {
      total += Number(own)
      expect(Number(cumulativeGasUsed)).toBe(total)
    }
    expect(Number(gasUsed)).toBe(total)
    const [count, countByHash] = await askAll(devnet.url, [
      ['eth_getBlockTransactionCountByNumber', '0x1'],
      ['eth_getBlockTransactionCountByHash', sealed.hash],
    ])
    expect([count?.result, countByHash?.result]).toEqual(['0x3', '0x3'])
    for (const [index, one] of full.entries()) {
      const place = { blockHash: sealed.hash, blockNumber: '0x1', transactionIndex: `0x${index}` }
      expect(one).toMatchObject(place)
      expect(receipts[index]).toMatchObject(place)
      const [byHash, byIndex, receipt] = await askAll(devnet.url, [
        ['eth_getTransactionByHash', one.hash],
        ['eth_getTransactionByBlockNumberAndIndex', '0x1', `0x${index}`],
        ['eth_getTransactionReceipt', one.hash],
      ])
      expect(byHash?.result).toEqual(one)
      expect(byIndex?.result).toEqual(one)
      expect(receipt?.result).toEqual(receipts[index])
    }
    const logs = await rpc<Receipt['logs']>(devnet.url, 'eth_getLogs', { fromBlock: '0x1', toBlock: '0x1' })
    expect(logs).toMatchObject([{ transactionIndex: '0x2', logIndex: '0x0' }])
    expect(await devnet.pool()).toEqual([])
  })

  test('blocks, transactions and logs carry the milliseconds, and none of them with timestampMs: false', async () => {
    for (const timestampMs of [true, false]) {
      await using devnet = await startDevnet({ ...MANUAL, timestampMs })
      const hash = await sent(devnet, devnet.accounts[0]!, 0, DEPLOY)
      await devnet.seal()
      const sealed = await block<Tx>(devnet, 'latest', true)
      const receipt = await rpc<Receipt>(devnet.url, 'eth_getTransactionReceipt', hash)
      const logs = await rpc<Receipt['logs']>(devnet.url, 'eth_getLogs', { blockHash: sealed.hash })
      const carried = [...sealed.transactions, ...receipt.logs, ...logs].map((one) => one.blockTimestampMs)
      const expected = timestampMs ? sealed.timestampMs : undefined
      expect(sealed.timestampMs === undefined).toBe(!timestampMs)
      expect(carried).toEqual(Array(5).fill(expected))
    }
  })

  test('pending reads as latest, and its count includes the executable transactions of the pool', async () => {
    await using devnet = await startDevnet(MANUAL)
    const account = devnet.accounts[0]!
    await sent(devnet, account, 0)
    await devnet.seal()
    for (const nonce of [1, 2, 4]) await sent(devnet, account, nonce)
    expect(await block<Tx>(devnet, 'pending', true)).toEqual(await block<Tx>(devnet, 'latest', true))
    const [count, latest, receipts, balance, balanceAtLatest] = await askAll(devnet.url, [
      ['eth_getTransactionCount', account.address, 'pending'],
      ['eth_getTransactionCount', account.address, 'latest'],
      ['eth_getBlockReceipts', 'pending'],
      ['eth_getBalance', account.address, 'pending'],
      ['eth_getBalance', account.address, 'latest'],
    ])
    expect([count?.result, latest?.result]).toEqual(['0x3', '0x1'])
    expect(receipts?.result).toHaveLength(3)
    expect(balance?.result).toBe(balanceAtLatest?.result)
  })

  test('a reorganisation replaces the deposits of the removed blocks', async () => {
    await using devnet = await startDevnet(MANUAL)
    await devnet.seal()
    const before = await block(devnet, 'latest')
    await devnet.reorg(1)
    const after = await block(devnet, 'latest')
    expect([before.number, after.number]).toEqual(['0x1', '0x1'])
    expect(after.transactions.some((hash) => before.transactions.includes(hash))).toBe(false)
    for (const hash of before.transactions) {
      expect(await rpc(devnet.url, 'eth_getTransactionByHash', hash)).toBeNull()
      expect(await rpc(devnet.url, 'eth_getTransactionReceipt', hash)).toBeNull()
    }
  })

  test("viem's OP-stack chain reads the deposits, and no account's count changes by them", async () => {
    await using devnet = await startDevnet(MANUAL)
    const chain = { ...devnet.chain, ...chainConfig }
    const client = createPublicClient({ chain, transport: http(devnet.url), cacheTime: 0 })
    await devnet.seal()
    const { transactions } = await client.getBlock({ includeTransactions: true })
    expect(transactions).toMatchObject([
      { type: 'deposit', to: L1_BLOCK, mint: 0n, value: 0n },
      { type: 'deposit', to: BASE_TIME, mint: 0n, value: 0n },
    ])
    const { hash, from } = transactions[1]!
    expect(await client.getTransactionReceipt({ hash })).toMatchObject({ status: 'success', l1Fee: 0n })
    expect(await client.getTransactionCount({ address: from })).toBe(0)
  })

  test("viem's clients wait for a receipt and watch each block, by poll and by push", async () => {
    await using devnet = await startDevnet({ mode: 'fastBlocks' })
    const client = devnet.client()
    const pushed = createPublicClient({ chain: devnet.chain, transport: webSocket(devnet.wsUrl) })
    const numbers: bigint[] = []
    await new Promise<void>((resolve, reject) => {
      const unwatch = pushed.watchBlockNumber({
        onBlockNumber(number) {
          numbers.push(number)
          if (numbers.length < 5) return
          unwatch()
          resolve()
        },
        onError: reject,
      })
    })
    expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + BigInt(index)))
    const hash = await client.sendTransaction({ to: devnet.accounts[1]!.address, value: 1n })
    const [byPoll, byPush] = await Promise.all([
      client.waitForTransactionReceipt({ hash }),
      pushed.waitForTransactionReceipt({ hash }),
    ])
    expect(byPoll).toMatchObject({ status: 'success', transactionHash: hash })
    expect(byPush.blockHash).toBe(byPoll.blockHash)
    const serializedTransaction = await sign(devnet, devnet.accounts[0]!, 1)
    const synced = await client.sendRawTransactionSync({ serializedTransaction })
    const again = await client.getTransactionReceipt({ hash: synced.transactionHash })
    expect(synced).toEqual(again)
    ;(await pushed.transport.getRpcClient()).close()
  })

  test('flashblock subscriptions are accepted and stay silent, as on Base', async () => {
    await using devnet = await startDevnet(MANUAL)
    await using listener = await listen(
      devnet.wsUrl,
      'newFlashblocks',
      'newFlashblockTransactions',
      'newHeads',
    )
    await sent(devnet, devnet.accounts[0]!, 0)
    await devnet.seal()
    await devnet.seal()
    await listener.until('newHeads', 2)
    expect(listener.seen.map(({ topic }) => topic)).toEqual(['newHeads', 'newHeads'])
  })
})

describe('the modes of the devnet', () => {
  test('a block is visible as a whole: no reader sees a transaction before its block is sealed', async () => {
    for (const mode of ['fastBlocks', 'plain'] as const) {
      await using devnet = await startDevnet({ mode, mining: 'manual' })
      const raw = await sign(devnet, devnet.accounts[0]!, 0)
      const answer = rpc<{ blockHash: Hex }>(devnet.url, 'eth_sendRawTransactionSync', raw)
      while ((await devnet.pool()).length === 0) await rpc(devnet.url, 'eth_blockNumber')
      await devnet.stepFlashblock()
      expect((await answer).blockHash).toBe((await block(devnet, 'latest')).hash)
    }
  })

  test('plain has no deposits and no pre-confirmations, and preconfirmed has both stages', async () => {
    await using plain = await startDevnet({ mode: 'plain', mining: 'manual' })
    await using preconfirmed = await startDevnet({ mode: 'preconfirmed', mining: 'manual' })
    for (const [devnet, latest] of [
      [plain, 1],
      [preconfirmed, 0],
    ] as const) {
      const hash = await sent(devnet, devnet.accounts[0]!, 0)
      await devnet.stepFlashblock()
      expect(Number(await rpc(devnet.url, 'eth_blockNumber'))).toBe(latest)
      if (latest === 0) await devnet.seal()
      expect((await block(devnet, 'latest')).transactions).toEqual([hash])
      expect((await block(devnet, 'latest')).timestampMs).toBeUndefined()
    }
  })
})
