import { createPublicClient, type Hex, webSocket } from 'viem'
import { describe, expect, test } from 'vitest'
import { type Devnet, type NotificationFault, startDevnet } from '../../tools/devnet/index.js'
import { ask, DEPLOY, type Listener, listen, rpc, sent } from './devnetSupport.js'

type Head = { number: Hex; hash: Hex; parentHash: Hex }
type Log = { blockNumber: Hex; blockHash: Hex; transactionHash: Hex; logIndex: Hex; removed: boolean }

const MODES = ['preconfirmed', 'fastBlocks', 'plain'] as const
const MANUAL = { mode: 'fastBlocks', mining: 'manual' } as const

const numbers = (listener: Listener) => listener.of<Head>('newHeads').map(({ number }) => Number(number))

/** Seals blocks, and waits until everything that the node sent for them has arrived. */
async function seal(devnet: Devnet, listener: Listener, count: number): Promise<void> {
  for (let sealed = 0; sealed < count; sealed += 1) await devnet.seal()
  await listener.ask('eth_chainId')
}

/** Two logs in one transaction: LOG1 with topic 1, LOG1 with topic 2. */
const TWO_LOGS = { to: null, data: '0x60015f5fa160025f5fa100', value: 0n, gas: 200_000n } as const

describe.each(MODES)('subscriptions in mode %s', (mode) => {
  test('each sealed block is announced once, in order, with the header that reads show', async () => {
    await using devnet = await startDevnet({ mode, mining: 'manual' })
    await using listener = await listen(devnet.wsUrl, 'newHeads')
    await sent(devnet, devnet.accounts[0]!, 0)
    await seal(devnet, listener, 4)
    expect(numbers(listener)).toEqual([1, 2, 3, 4])
    for (const head of listener.of<Head>('newHeads')) {
      expect(await rpc(devnet.url, 'eth_getBlockByHash', head.hash, false)).toMatchObject(head)
    }
  })

  test('a reorganisation announces each new head again, and the removed logs before them', async () => {
    await using devnet = await startDevnet({ mode, mining: 'manual' })
    await using listener = await listen(devnet.wsUrl, 'newHeads', 'logs')
    const hash = await sent(devnet, devnet.accounts[0]!, 0, DEPLOY)
    await seal(devnet, listener, 2)
    await listener.until('logs', 1)
    await devnet.reorg(2)
    await seal(devnet, listener, 1)
    await listener.until('logs', 3)
    const heads = listener.of<Head>('newHeads')
    expect(numbers(listener)).toEqual([1, 2, 1, 2, 3])
    expect(new Set(heads.map((head) => head.hash)).size).toBe(5)
    expect(heads.map(({ parentHash }) => heads.findIndex((head) => head.hash === parentHash))).toEqual([
      -1, 0, -1, 2, 3,
    ])
    expect(listener.of<Log>('logs')).toMatchObject([
      { transactionHash: hash, blockHash: heads[0]?.hash, removed: false },
      { transactionHash: hash, blockHash: heads[0]?.hash, removed: true },
      { transactionHash: hash, blockHash: heads[4]?.hash, removed: false },
    ])
    const topics = listener.seen.map(({ topic }) => topic)
    expect(topics.slice(0, topics.lastIndexOf('logs')).lastIndexOf('logs')).toBeLessThan(
      topics.indexOf('newHeads', 3),
    )
  })

  test('each transaction of the pool is announced once it is executable', async () => {
    await using devnet = await startDevnet({ mode, mining: 'manual' })
    await using listener = await listen(devnet.wsUrl, 'newPendingTransactions')
    await using full = await listen(devnet.wsUrl, ['newPendingTransactions', true])
    const account = devnet.accounts[0]!
    const [first, third] = [await sent(devnet, account, 0), await sent(devnet, account, 2)]
    await listener.ask('eth_chainId')
    expect(listener.of('newPendingTransactions')).toEqual([first])
    const second = await sent(devnet, account, 1)
    await listener.until('newPendingTransactions', 3)
    expect(listener.of('newPendingTransactions')).toEqual([first, second, third])
    await full.until('newPendingTransactions', 3)
    expect(full.of<object>('newPendingTransactions')[1]).toMatchObject({ hash: second, nonce: '0x1' })
  })

  test("viem's client over WebSocket watches blocks and logs", async () => {
    await using devnet = await startDevnet({ mode, mining: 'manual' })
    const client = createPublicClient({ chain: devnet.chain, transport: webSocket(devnet.wsUrl) })
    await client.getBlockNumber()
    const blocks: bigint[] = []
    const logs: (bigint | null)[] = []
    let done = () => {}
    const both = new Promise<void>((resolve) => {
      done = () => blocks.length >= 3 && logs.length >= 1 && resolve()
    })
    const unwatchBlocks = client.watchBlocks({
      onBlock(block) {
        blocks.push(block.number)
        done()
      },
    })
    const unwatchLogs = client.watchEvent({
      onLogs(seen) {
        logs.push(...seen.map(({ blockNumber }) => blockNumber))
        done()
      },
    })
    // The requests of both subscriptions left before this one.
    await client.getBlockNumber({ cacheTime: 0 })
    await sent(devnet, devnet.accounts[0]!, 0, DEPLOY)
    for (let sealed = 1n; sealed <= 3n; sealed += 1n) {
      await devnet.seal()
      // viem reads the newest block for each head, so that the next one may not come earlier.
      while (BigInt(blocks.length) < sealed) await client.getBlockNumber({ cacheTime: 0 })
    }
    await both
    expect(blocks).toEqual([1n, 2n, 3n])
    expect(logs).toEqual([1n])
    unwatchBlocks()
    unwatchLogs()
    ;(await client.transport.getRpcClient()).close()
  })
})

describe('a subscription', () => {
  test('ends with eth_unsubscribe on its own socket only', async () => {
    await using devnet = await startDevnet(MANUAL)
    await using listener = await listen(devnet.wsUrl)
    await using other = await listen(devnet.wsUrl)
    const { result: id } = await listener.ask('eth_subscribe', 'newHeads')
    expect((await other.ask('eth_unsubscribe', id)).result).toBe(false)
    await seal(devnet, listener, 1)
    expect((await listener.ask('eth_unsubscribe', id)).result).toBe(true)
    await seal(devnet, listener, 1)
    expect(numbers(listener)).toEqual([1])
    expect((await listener.ask('eth_unsubscribe', id)).result).toBe(false)
  })

  test('of logs receives the logs of its addresses and topics', async () => {
    await using devnet = await startDevnet(MANUAL)
    const topic = (value: number) => `0x${value.toString(16).padStart(64, '0')}` as const
    const filters = [
      {},
      { topics: [topic(2)] },
      { topics: [[topic(1), topic(3)]] },
      { topics: [null] },
      { topics: [topic(3)] },
      { address: devnet.accounts[0]!.address },
    ]
    const listeners = await Promise.all(filters.map((filter) => listen(devnet.wsUrl, ['logs', filter])))
    await sent(devnet, devnet.accounts[0]!, 0, TWO_LOGS)
    await devnet.seal()
    await listeners[0]?.until('logs', 2)
    for (const listener of listeners) await listener.ask('eth_chainId')
    expect(listeners.map((one) => one.of<Log>('logs').map(({ logIndex }) => Number(logIndex)))).toEqual([
      [0, 1],
      [1],
      [0],
      [0, 1],
      [],
      [],
    ])
    for (const listener of listeners) await listener[Symbol.asyncDispose]()
  })

  test('does not exist over HTTP, and faults apply to the request for one', async () => {
    await using devnet = await startDevnet(MANUAL)
    expect((await ask(devnet.url, 'eth_subscribe', 'newHeads')).error?.code).toBe(-32601)
    devnet.faults.inject({ fault: 'rpcError', method: 'eth_subscribe', code: -32601, count: 1 })
    await using listener = await listen(devnet.wsUrl)
    expect((await listener.ask('eth_subscribe', 'newHeads')).error?.code).toBe(-32601)
    expect((await listener.ask('eth_subscribe', 'newHeads')).result).toBeDefined()
    expect(devnet.stats.byMethod.eth_subscribe).toBe(3)
  })
})

describe('faults of subscriptions', () => {
  const strike = (fault: NotificationFault['fault']) =>
    ({ fault, topic: 'newHeads', skip: 1, count: 1 }) as const

  test.each([
    ['repeatedNotification', [1, 2, 2, 3, 4]],
    ['skippedNotification', [1, 3, 4]],
    ['reorderedNotification', [1, 3, 2, 4]],
  ] as const)('%s', async (fault, expected) => {
    await using devnet = await startDevnet(MANUAL)
    await using listener = await listen(devnet.wsUrl, 'newHeads', 'newPendingTransactions')
    const handle = devnet.faults.inject(strike(fault))
    await sent(devnet, devnet.accounts[0]!, 0)
    await seal(devnet, listener, 4)
    expect(numbers(listener)).toEqual(expected)
    expect(listener.of('newPendingTransactions')).toHaveLength(1)
    expect(handle.hits).toBe(1)
  })

  test('a silent subscription stays silent, its socket answers, and a new subscription works', async () => {
    await using devnet = await startDevnet(MANUAL)
    await using listener = await listen(devnet.wsUrl, 'newHeads')
    devnet.faults.inject(strike('silentSubscription'))
    await seal(devnet, listener, 4)
    expect(numbers(listener)).toEqual([1])
    await listener.ask('eth_subscribe', 'newHeads')
    await seal(devnet, listener, 2)
    expect(numbers(listener)).toEqual([1, 5, 6])
  })

  test('a socket drops in mid-burst: no notification follows, and another socket is not affected', async () => {
    await using devnet = await startDevnet(MANUAL)
    await using other = await listen(devnet.wsUrl)
    const listener = await listen(devnet.wsUrl, 'newHeads')
    const account = devnet.accounts[0]!
    devnet.faults.inject(strike('droppedSocket'))
    for (let nonce = 0; nonce < 3; nonce += 1) {
      await sent(devnet, account, nonce)
      await devnet.seal()
    }
    await listener.closed
    expect(numbers(listener)).toEqual([1])
    expect((await other.ask('eth_getTransactionCount', account.address, 'latest')).result).toBe('0x3')
  })

  test("viem's WebSocket client reconnects and watches on after the drop", async () => {
    await using devnet = await startDevnet({ mode: 'fastBlocks' })
    const transport = webSocket(devnet.wsUrl, { reconnect: { attempts: 5, delay: 10 } })
    const client = createPublicClient({ chain: devnet.chain, transport })
    const dropped = devnet.faults.inject({ fault: 'droppedSocket', skip: 2, count: 1 })
    const seen: bigint[] = []
    await new Promise<void>((resolve) => {
      const unwatch = client.watchBlockNumber({
        onBlockNumber(number) {
          seen.push(number)
          if (dropped.hits === 0 || seen.length < 5) return
          unwatch()
          resolve()
        },
      })
    })
    expect(seen.every((number, index) => index === 0 || number > seen[index - 1]!)).toBe(true)
    ;(await client.transport.getRpcClient()).close()
  })
})
