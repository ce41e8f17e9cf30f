import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { ask, askAll, DEPLOY, GWEI, rpc, sent } from './devnetSupport.js'

type Block = {
  number: Hex
  hash: Hex
  parentHash: Hex
  timestamp: Hex
  baseFeePerGas: Hex
  gasUsed: Hex
  transactions: Hex[]
}

const block = (devnet: Devnet, selector: unknown) =>
  rpc<Block>(devnet.url, 'eth_getBlockByNumber', selector, false)

const hex = (value: number): Hex => `0x${value.toString(16)}`

describe('sealed blocks of the devnet', () => {
  test('each names the previous one as its parent, down to a genesis that no other devnet has', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    await using other = await startDevnet({ mining: 'manual' })
    for (let sealed = 0; sealed < 4; sealed += 1) {
      await devnet.stepFlashblock()
      await devnet.stepFlashblock()
      await devnet.seal()
    }
    let walked = await block(devnet, 'latest')
    expect(walked.number).toBe('0x4')
    for (let number = 3; number >= 0; number -= 1) {
      walked = await rpc<Block>(devnet.url, 'eth_getBlockByHash', walked.parentHash, false)
      expect(walked).toEqual(await block(devnet, hex(number)))
      expect(Number(walked.number)).toBe(number)
    }
    expect((await block(other, 'earliest')).hash).not.toBe(walked.hash)
  })

  test('numbers, hashes and indices agree in every method that returns a transaction', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    await sent(devnet, account, 0, DEPLOY)
    await devnet.stepFlashblock()
    await sent(devnet, account, 1, DEPLOY)
    const hash = await sent(devnet, account, 2, DEPLOY)
    await devnet.stepFlashblock()
    await devnet.seal()
    await devnet.seal()
    const { hash: blockHash } = await block(devnet, '0x1')
    const place = { blockHash, blockNumber: '0x1', transactionIndex: '0x2' }
    const [byHash, byIndex, receipt, logs, logsByHash, count] = await askAll(devnet.url, [
      ['eth_getTransactionByHash', hash],
      ['eth_getTransactionByBlockHashAndIndex', blockHash, '0x2'],
      ['eth_getTransactionReceipt', hash],
      ['eth_getLogs', { fromBlock: '0x1', toBlock: '0x1' }],
      ['eth_getLogs', { blockHash }],
      ['eth_getBlockTransactionCountByHash', blockHash],
    ])
    expect(byHash?.result).toMatchObject({ hash, ...place })
    expect(byIndex?.result).toEqual(byHash?.result)
    expect(receipt?.result).toMatchObject({
      transactionHash: hash,
      ...place,
      logs: [{ logIndex: '0x2', ...place }],
    })
    expect(logs?.result).toMatchObject([
      { logIndex: '0x0' },
      { logIndex: '0x1' },
      { logIndex: '0x2', ...place },
    ])
    expect(logsByHash?.result).toEqual(logs?.result)
    expect(count?.result).toBe('0x3')
    const none = await rpc(devnet.url, 'eth_getLogs', { fromBlock: '0x2', toBlock: 'latest' })
    expect(none).toEqual([])
  })

  test('state can be read at any number, block hash, or EIP-1898 selector', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    for (let nonce = 0; nonce < 3; nonce += 1) {
      await sent(devnet, account, nonce)
      await devnet.seal()
    }
    const count = (selector: unknown) =>
      ask(devnet.url, 'eth_getTransactionCount', account.address, selector).then(({ result }) => result)
    const { hash } = await block(devnet, '0x2')
    expect(await Promise.all(['0x0', '0x1', '0x2', '0x3'].map(count))).toEqual(['0x0', '0x1', '0x2', '0x3'])
    expect(await count(hash)).toBe('0x2')
    expect(await count({ blockHash: hash, requireCanonical: true })).toBe('0x2')
    expect(await count({ blockNumber: '0x1' })).toBe('0x1')
    expect(await count('earliest')).toBe('0x0')
  })

  test('an unknown block is null, its state an error, and a malformed selector another error', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const answers = await askAll(devnet.url, [
      ['eth_getBlockByNumber', '0x63', false],
      ['eth_getBlockByHash', `0x${'ab'.repeat(32)}`, false],
      ['eth_getBlockReceipts', '0x63'],
      ['eth_getCode', devnet.accounts[0]!.address, '0x63'],
      ['eth_getCode', devnet.accounts[0]!.address, 'newest'],
    ])
    expect(answers.slice(0, 3).map(({ result }) => result)).toEqual([null, null, null])
    expect(answers[3]?.error).toEqual({ code: -32000, message: 'header not found' })
    expect(answers[4]?.error?.code).toBe(-32602)
  })

  test('safe and finalized lag the head by the given times, and never fall below the genesis', async () => {
    await using devnet = await startDevnet({ mining: 'manual', safeLagMs: 2_000, finalizedLagMs: 6_000 })
    const tags = async () =>
      (await Promise.all(['latest', 'safe', 'finalized'].map((tag) => block(devnet, tag)))).map(
        ({ number }) => Number(number),
      )
    expect(await tags()).toEqual([0, 0, 0])
    for (let sealed = 0; sealed < 5; sealed += 1) await devnet.seal()
    expect(await tags()).toEqual([5, 4, 2])
  })

  test('state older than the history is refused, also at a tag, and its block is still served', async () => {
    await using devnet = await startDevnet({
      mode: 'fastBlocks',
      mining: 'manual',
      historyBlocks: 3,
      safeLagMs: 400,
      finalizedLagMs: 1_000,
    })
    for (let sealed = 0; sealed < 8; sealed += 1) await devnet.seal()
    const { address } = devnet.accounts[0]!
    const count = (selector: string) => ask(devnet.url, 'eth_getTransactionCount', address, selector)
    expect((await count('safe')).result).toBe('0x0')
    for (const selector of ['finalized', '0x5', '0x0']) {
      expect((await count(selector)).error).toMatchObject({
        code: -32000,
        message: expect.stringMatching(/^historical state .* is not available$/),
      })
    }
    expect(await block(devnet, 'finalized')).toMatchObject({ number: '0x3' })
  })

  test('base fee and timestamp are constant inside a block and change from block to block', async () => {
    await using devnet = await startDevnet({ mining: 'manual', gasLimit: 30_000_000n })
    const account = devnet.accounts[0]!
    const opened = await block(devnet, 'pending')
    const sold = { gas: 16_000_000n, to: null, data: '0x5b5f56' } as const
    for (let step = 0; step < 10; step += 1) {
      // Loops until its gas is used up: with gas for one such transaction, the block is more than half full.
      if (step === 0) await sent(devnet, account, 0, sold)
      await devnet.stepFlashblock()
      const { baseFeePerGas, timestamp } = await block(devnet, 'pending')
      expect({ baseFeePerGas, timestamp }).toEqual({
        baseFeePerGas: opened.baseFeePerGas,
        timestamp: opened.timestamp,
      })
    }
    await devnet.seal()
    await devnet.seal()
    await devnet.seal()
    const fees = []
    for (const number of ['0x1', '0x2', '0x3']) fees.push(BigInt((await block(devnet, number)).baseFeePerGas))
    expect(Number((await block(devnet, '0x1')).gasUsed)).toBe(16_000_000)
    expect(fees[1]).toBeGreaterThan(fees[0]!)
    expect(fees[2]).toBeLessThan(fees[1]!)
    const times = await Promise.all(['0x1', '0x2'].map((number) => block(devnet, number)))
    expect(Number(times[1]?.timestamp) - Number(times[0]?.timestamp)).toBe(2)
  })

  test('a constant base fee does not change', async () => {
    await using devnet = await startDevnet({
      mining: 'manual',
      baseFee: 'constant',
      baseFeePerGasWei: 7n * GWEI,
    })
    for (let sealed = 0; sealed < 3; sealed += 1) await devnet.seal()
    const { baseFeePerGas } = await rpc<{ baseFeePerGas: Hex[] }>(
      devnet.url,
      'eth_feeHistory',
      '0x3',
      'latest',
      [],
    )
    expect(baseFeePerGas.map(BigInt)).toEqual([7n, 7n, 7n, 7n].map((gwei) => gwei * GWEI))
  })

  test('a transaction below the base fee waits until it has fallen far enough', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    const hash = await sent(devnet, account, 0, { maxFeePerGas: 800_000_000n, maxPriorityFeePerGas: 1n })
    await devnet.seal()
    expect(await rpc(devnet.url, 'eth_getTransactionReceipt', hash)).toBeNull()
    await devnet.seal()
    expect(await rpc(devnet.url, 'eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber: '0x2' })
  })

  test('a devnet forks another, and its block numbers continue from there', async () => {
    await using origin = await startDevnet({ mining: 'manual' })
    await sent(origin, origin.accounts[0]!, 0)
    await origin.seal()
    const head = await origin.seal()
    await using fork = await startDevnet({ mining: 'manual', forkUrl: origin.url })
    expect((await block(fork, 'latest')).hash).toBe(head.hash)
    await sent(fork, fork.accounts[0]!, 1)
    const sealed = await fork.seal()
    expect(await block(fork, 'latest')).toMatchObject({
      number: '0x3',
      parentHash: head.hash,
      hash: sealed.hash,
    })
    const count = await rpc(fork.url, 'eth_getTransactionCount', fork.accounts[0]!.address, 'latest')
    expect(count).toBe('0x2')
    expect(await rpc(origin.url, 'eth_blockNumber')).toBe('0x2')
  })
})
