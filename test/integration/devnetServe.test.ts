import { once } from 'node:events'
import { createPublicClient, createTestClient, type Hex, http, webSocket } from 'viem'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startDevnet } from '../../tools/devnet/index.js'
import { ask, askAll, post, rpc, sent, sign } from './devnetSupport.js'

const manual = { mining: 'manual' } as const

describe('the gateway over HTTP', () => {
  test('answers batches in order, and calls of a batch see the effects of earlier ones', async () => {
    await using devnet = await startDevnet({ ...manual, rules: 'geth' })
    const account = devnet.accounts[0]!
    const count = ['eth_getTransactionCount', account.address, 'pending'] as const
    const answers = await askAll(devnet.url, [
      [...count],
      ['eth_sendRawTransaction', await sign(devnet, account, 0)],
      ['eth_sendRawTransaction', await sign(devnet, account, 1)],
      [...count],
    ])
    expect(answers.map(({ id }) => id)).toEqual([0, 1, 2, 3])
    expect([answers[0]?.result, answers[3]?.result]).toEqual(['0x0', '0x2'])
  })

  test('counts requests, calls and methods', async () => {
    await using devnet = await startDevnet(manual)
    await askAll(devnet.url, [['eth_chainId'], ['eth_chainId'], ['eth_blockNumber']])
    await rpc(devnet.url, 'eth_chainId')
    expect(devnet.stats).toEqual({
      httpRequests: 2,
      rpcCalls: 4,
      byMethod: { eth_chainId: 3, eth_blockNumber: 1 },
    })
  })

  test('refuses unreadable requests, too many calls, unknown methods, and methods that would break the chain', async () => {
    await using devnet = await startDevnet({ ...manual, batchMax: 2 })
    const code = (body: unknown) => (body as { error: { code: number } }).error.code
    expect(code((await post(devnet.url, '{')).body)).toBe(-32700)
    expect(code((await post(devnet.url, [1, 2, 3])).body)).toBe(-32600)
    for (const method of [
      'eth_mystery',
      'constructor',
      'evm_snapshot',
      'anvil_reset',
      'eth_sendTransaction',
    ]) {
      expect((await ask(devnet.url, method)).error?.code).toBe(-32601)
    }
    expect((await fetch(devnet.url)).status).toBe(405)
  })

  test('answers block receipts with 403 if they are forbidden, and in a batch with an error', async () => {
    await using devnet = await startDevnet({ ...manual, blockReceipts: 'forbidden' })
    const alone = await post(devnet.url, { id: 1, method: 'eth_getBlockReceipts', params: ['latest'] })
    expect(alone.status).toBe(403)
    const [receipts, id] = await askAll(devnet.url, [['eth_getBlockReceipts', 'latest'], ['eth_chainId']])
    expect(receipts?.error?.message).toBe('rpc method is not whitelisted')
    expect(id?.result).toBe('0x7a69')
  })

  test("serves viem's clients: sending, waiting, contract state and the test client's writes", async () => {
    await using devnet = await startDevnet({ blockTimeMs: 100, flashblockMs: 20 })
    const client = devnet.client(1)
    const hash = await client.sendTransaction({ to: devnet.accounts[2]!.address, value: 5n })
    const receipt = await client.waitForTransactionReceipt({ hash })
    expect(receipt).toMatchObject({ status: 'success', transactionHash: hash })
    const tester = createTestClient({ mode: 'anvil', chain: devnet.chain, transport: http() })
    await tester.setBalance({ address: devnet.accounts[3]!.address, value: 77n })
    expect(await client.getBalance({ address: devnet.accounts[3]!.address, blockTag: 'pending' })).toBe(77n)
    const before = await client.getBlockNumber()
    await tester.mine({ blocks: 2 })
    expect(await client.getBlockNumber()).toBeGreaterThanOrEqual(before + 2n)
  })
})

describe('the gateway over WebSocket', () => {
  test('answers calls and batches, and a lost request breaks the connection', async () => {
    await using devnet = await startDevnet(manual)
    const client = createPublicClient({ chain: devnet.chain, transport: webSocket(devnet.wsUrl) })
    expect(await client.getBlockNumber()).toBe(0n)
    devnet.faults.inject({ fault: 'lostRequest', count: 1 })
    const socket = new WebSocket(devnet.wsUrl)
    await once(socket, 'open')
    socket.send('{"id":1,"method":"eth_chainId"}')
    await once(socket, 'close')
    // Closes the client, not its socket: viem reopens a lost socket, and reports an error if it cannot.
    ;(await client.transport.getRpcClient()).close()
  })

  test('notifies of each flashblock, its transactions, and each sealed block: ten flashblocks a block', async () => {
    await using devnet = await startDevnet({ blockTimeMs: 200, flashblockMs: 20 })
    const account = devnet.accounts[0]!
    const socket = new WebSocket(devnet.wsUrl)
    await once(socket, 'open')
    for (const topic of ['newHeads', 'newFlashblocks', 'newFlashblockTransactions']) {
      socket.send(JSON.stringify({ id: topic, method: 'eth_subscribe', params: [topic] }))
    }
    const topics = new Map<string, string>()
    const events: { topic: string; result: unknown }[] = []
    const heads = () => events.filter(({ topic }) => topic === 'newHeads')
    let hash: Hex | undefined
    await new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        const message = JSON.parse(data.toString())
        if (message.id !== undefined) topics.set(message.result, message.id)
        else events.push({ topic: topics.get(message.params.subscription)!, result: message.params.result })
        if (topics.size === 3 && hash === undefined) {
          hash = '0x'
          void sent(devnet, account, 0).then((sentHash) => {
            hash = sentHash
          })
        }
        if (heads().length === 4) resolve()
      })
    })
    socket.terminate()
    const between = events
      .slice(events.indexOf(heads()[0]!), events.indexOf(heads()[3]!))
      .filter(({ topic }) => topic === 'newFlashblocks')
    expect(between.length).toBe(30)
    expect(events).toContainEqual({ topic: 'newFlashblockTransactions', result: hash })
    const numbers = heads().map(({ result }) => Number((result as { number: Hex }).number))
    expect(numbers).toEqual([0, 1, 2, 3].map((later) => numbers[0]! + later))
  })
})
