import { getContractAddress, type Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { startDevnet } from '../../tools/devnet/index.js'
import { ask, askAll, DEPLOY, rpc, sent } from './devnetSupport.js'

type Block = { number: Hex; hash: Hex; parentHash: Hex; gasUsed: Hex; transactions: Hex[]; timestamp: Hex }
type Receipt = {
  transactionHash: Hex
  blockNumber: Hex
  blockHash: Hex
  transactionIndex: Hex
  cumulativeGasUsed: Hex
  status: Hex
  logs: { logIndex: Hex; transactionIndex: Hex; blockHash: Hex }[]
}

describe('pending on the devnet', () => {
  test('the count excludes the mempool and includes each flashblock, while latest waits for the seal', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    const counts = async () => [
      Number(await rpc(devnet.url, 'eth_getTransactionCount', account.address, 'pending')),
      Number(await rpc(devnet.url, 'eth_getTransactionCount', account.address, 'latest')),
    ]
    await sent(devnet, account, 0)
    await sent(devnet, account, 1)
    expect(await counts()).toEqual([0, 0])
    await devnet.stepFlashblock()
    expect(await counts()).toEqual([2, 0])
    await devnet.seal()
    expect(await counts()).toEqual([2, 2])
  })

  test('the block has the next number, grows with each flashblock, and changes its partial hash each time', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    const head = await devnet.seal()
    const pending = () => rpc<Block>(devnet.url, 'eth_getBlockByNumber', 'pending', false)
    const seen = [await pending()]
    const hashes: Hex[] = []
    for (let nonce = 0; nonce < 3; nonce += 1) {
      hashes.push(await sent(devnet, account, nonce))
      await devnet.stepFlashblock()
      seen.push(await pending())
    }
    await devnet.stepFlashblock()
    seen.push(await pending())
    expect(new Set(seen.map(({ hash }) => hash)).size).toBe(5)
    expect(seen.map(({ number }) => Number(number))).toEqual([2, 2, 2, 2, 2])
    expect(seen.map(({ parentHash }) => parentHash)).toEqual(seen.map(() => head.hash))
    expect(seen.map(({ gasUsed }) => Number(gasUsed))).toEqual([0, 21_000, 42_000, 63_000, 63_000])
    expect(seen.map(({ transactions }) => transactions.length)).toEqual([0, 1, 2, 3, 3])
    expect(seen.at(-1)?.transactions).toEqual(hashes)
    const sealed = await devnet.seal()
    expect(seen.map(({ hash }) => hash)).not.toContain(sealed.hash)
    const block = await rpc<Block>(devnet.url, 'eth_getBlockByNumber', 'latest', false)
    expect(block).toMatchObject({ number: '0x2', hash: sealed.hash, transactions: hashes })
    expect(block.timestamp).toBe(seen[0]?.timestamp)
  })

  test('code and storage of a pre-confirmed deployment are readable before the block is sealed', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    const address = getContractAddress({ from: account.address, nonce: 0n })
    const reads = async (tag: string) =>
      (
        await askAll(devnet.url, [
          ['eth_getCode', address, tag],
          ['eth_getStorageAt', address, '0x0', tag],
        ])
      ).map(({ result }) => result)
    const zero = `0x${'0'.repeat(64)}`
    await sent(devnet, account, 0, DEPLOY)
    expect(await reads('pending')).toEqual(['0x', zero])
    await devnet.stepFlashblock()
    expect(await reads('pending')).toEqual(['0x00', `0x${'0'.repeat(62)}2a`])
    expect(await reads('latest')).toEqual(['0x', zero])
    await devnet.seal()
    expect(await reads('latest')).toEqual(['0x00', `0x${'0'.repeat(62)}2a`])
  })

  test('receipts of the block being built are numbered through all its flashblocks', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const [first, second] = [devnet.accounts[0]!, devnet.accounts[1]!]
    await sent(devnet, first, 0, DEPLOY)
    await devnet.stepFlashblock()
    await sent(devnet, first, 1)
    await sent(devnet, second, 0, DEPLOY)
    await devnet.stepFlashblock()
    const block = await rpc<Block>(devnet.url, 'eth_getBlockByNumber', 'pending', false)
    const receipts = await rpc<Receipt[]>(devnet.url, 'eth_getBlockReceipts', 'pending')
    expect(receipts.map(({ transactionHash }) => transactionHash)).toEqual(block.transactions)
    expect(receipts.map(({ transactionIndex }) => Number(transactionIndex))).toEqual([0, 1, 2])
    expect(receipts.at(-1)?.cumulativeGasUsed).toBe(block.gasUsed)
    expect(receipts.every(({ blockNumber }) => blockNumber === block.number)).toBe(true)
    expect(receipts.every(({ blockHash }) => blockHash === block.hash)).toBe(true)
    expect(receipts.flatMap(({ logs }) => logs.map(({ logIndex }) => Number(logIndex)))).toEqual([0, 1])
    for (const receipt of receipts) {
      expect(await rpc(devnet.url, 'eth_getTransactionReceipt', receipt.transactionHash)).toEqual(receipt)
    }
    await devnet.seal()
    const sealed = await rpc<Receipt[]>(devnet.url, 'eth_getBlockReceipts', 'latest')
    const { hash } = await rpc<Block>(devnet.url, 'eth_getBlockByNumber', 'latest', false)
    expect(sealed.map(({ cumulativeGasUsed }) => cumulativeGasUsed)).toEqual(
      receipts.map(({ cumulativeGasUsed }) => cumulativeGasUsed),
    )
    expect(sealed.flatMap((one) => [one, ...one.logs]).every(({ blockHash }) => blockHash === hash)).toBe(
      true,
    )
  })

  test('balances, calls and gas estimates at pending use the state of the newest flashblock', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const [rich, poor] = [devnet.accounts[0]!, `0x${'77'.repeat(20)}` as const]
    await sent(devnet, rich, 0, { to: poor, value: 10n ** 18n })
    await devnet.stepFlashblock()
    const spend = { from: poor, to: rich.address, value: '0x1' }
    expect(await rpc(devnet.url, 'eth_getBalance', poor, 'pending')).toBe('0xde0b6b3a7640000')
    expect(await rpc(devnet.url, 'eth_getBalance', poor, 'latest')).toBe('0x0')
    expect(await rpc(devnet.url, 'eth_call', spend, 'pending')).toBe('0x')
    expect((await ask(devnet.url, 'eth_call', spend, 'latest')).error).toBeDefined()
    expect(await rpc(devnet.url, 'eth_estimateGas', spend, 'pending')).toBe('0x5208')
  })

  test('full transactions carry the index and the hash of the block being built', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    await sent(devnet, account, 0)
    await devnet.stepFlashblock()
    const hash = await sent(devnet, account, 1)
    expect(await rpc(devnet.url, 'eth_getTransactionByHash', hash)).toMatchObject({
      hash,
      nonce: '0x1',
      blockNumber: null,
      from: account.address.toLowerCase(),
    })
    await devnet.stepFlashblock()
    const block = await rpc<{ hash: Hex; transactions: object[] }>(
      devnet.url,
      'eth_getBlockByNumber',
      'pending',
      true,
    )
    const place = { hash, transactionIndex: '0x1', blockHash: block.hash, blockNumber: '0x1' }
    expect(block.transactions[1]).toMatchObject(place)
    expect(await rpc(devnet.url, 'eth_getTransactionByHash', hash)).toMatchObject(place)
  })

  test('a step beyond a complete block seals it first, so that readers saw its last flashblock before', async () => {
    await using devnet = await startDevnet({ mining: 'manual', blockTimeMs: 600, flashblockMs: 200 })
    const numbers = async () => {
      const [pending, latest] = await askAll(devnet.url, [
        ['eth_getBlockByNumber', 'pending', false],
        ['eth_blockNumber'],
      ])
      return [Number((pending!.result as Block).number), Number(latest!.result)]
    }
    const seen = []
    for (let step = 0; step < 7; step += 1) {
      await devnet.stepFlashblock()
      seen.push(await numbers())
    }
    expect(seen).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
      [2, 1],
      [2, 1],
      [2, 1],
      [3, 2],
    ])
  })
})
