import { inspect } from 'node:util'
import { createClient, defineChain, fallback, type Hex, http, type Transport, toHex, webSocket } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createSender, type Logger, memoryStore, type Sender } from '../../src/index.js'
import { findAnvil, startAnvil } from '../../tools/devnet/anvilProcess.js'
import { createPlainRpc, type PlainRpc } from '../demo/plainRpc.js'
import { gethCommand } from '../nodes/find/geth.js'
import { startNodeProcess } from '../nodes/run/nodeProcess.js'
import { hasReceipt } from '../nodes/tools/accounts.js'
import { pause } from '../support/pause.js'
import { type SocketProxy, startSocketProxy } from '../support/socketProxy.js'

type Running = AsyncDisposable & { readonly url: string; readonly rpc: PlainRpc }

const geth = inject('geth')

const NODES = [
  {
    name: 'anvil, a block each 200 ms',
    periodMs: 200,
    isThere: true,
    async start(): Promise<Running> {
      const node = await startAnvil(findAnvil(undefined), ['--block-time', '0.2'])
      const { url } = node
      return { url, rpc: createPlainRpc(url), [Symbol.asyncDispose]: () => node.stop() }
    },
  },
  {
    name: 'geth, a block each second',
    periodMs: 1_000,
    isThere: geth !== undefined,
    start(): Promise<Running> {
      const command = (port: number) => {
        const { args, ...rest } = gethCommand(geth as string)(port)
        const socket = ['--ws', '--ws.addr', '127.0.0.1', '--ws.port', `${port}`]
        return { ...rest, args: [...args, ...socket] }
      }
      return startNodeProcess(command, ['--dev.period', '1'])
    },
  },
]

const SUBSCRIBE = 'eth_subscribe'
const POLL = 'eth_getBlockByNumber'
const ETHER = 10n ** 18n
const SECRET = 'a1b2c3d4e5f6'
const LOOKS = 400
const LOOK_MS = 25

describe.each(NODES)('the heads of $name', ({ isThere, periodMs, start }) => {
  if (!isThere) return test.skip('there is no such node')
  let node: Running
  let proxy: SocketProxy
  let chainId: number

  beforeAll(async () => {
    node = await start()
    proxy = await startSocketProxy(node.url)
    chainId = Number((await node.rpc.call('eth_chainId')) as Hex)
  })
  afterAll(async () => {
    await closeSocket(webSocket(proxy.url))
    await proxy[Symbol.asyncDispose]()
    await node[Symbol.asyncDispose]()
  })

  function clientOf(transport: Transport) {
    const rpcUrls = { default: { http: [node.url] } }
    const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 }
    return createClient({
      chain: defineChain({ id: chainId, name: 'dev', nativeCurrency, rpcUrls }),
      transport,
    })
  }

  async function open(
    client: ReturnType<typeof clientOf>,
    logger?: Logger,
  ): Promise<Sender & AsyncDisposable> {
    const account = privateKeyToAccount(generatePrivateKey())
    const [from] = (await node.rpc.call('eth_accounts')) as Hex[]
    const value = toHex(ETHER)
    const paid = await node.rpc.call('eth_sendTransaction', { from, to: account.address, value })
    await until(() => hasReceipt(node.rpc, paid as Hex))
    const sender = createSender({ client, account, store: memoryStore(), logger })
    return Object.assign(sender, { [Symbol.asyncDispose]: () => sender.close() })
  }

  const transfer = (value: number) =>
    ({ to: '0x00000000000000000000000000000000000000aa', value: BigInt(value) }) as const

  /** Sends one transfer after the other, each as soon as the one before is in a block. */
  async function chainOfTransfers(sender: Sender, count: number): Promise<void> {
    for (let value = 1; value <= count; value++) await (await sender.send(transfer(value))).wait('sealed')
  }

  const head = async () => Number((await node.rpc.call('eth_blockNumber')) as Hex)
  const nonceOf = async ({ address }: Sender) =>
    Number((await node.rpc.call('eth_getTransactionCount', address, 'latest')) as Hex)

  test('arrive over one subscription for all lanes, and cause a poll for each block or send at most', async () => {
    const client = clientOf(webSocket(proxy.url))
    await using one = await open(client)
    await using other = await open(client)
    proxy.take()
    await Promise.all([chainOfTransfers(one, 5), chainOfTransfers(other, 5)])
    expect(proxy.take()[SUBSCRIBE]).toBe(1)
    const from = await head()
    await Promise.all([chainOfTransfers(one, 10), chainOfTransfers(other, 10)])
    const blocks = (await head()) - from
    const polls = proxy.take()[POLL] ?? 0
    // One for each block, and one after a send that may be in a pool that counts.
    expect(polls).toBeLessThanOrEqual(blocks + 20 + 4)
    expect(await Promise.all([one, other].map(nonceOf))).toEqual([15, 15])
  })

  test('arrive over a member of a fallback beside the one that is read', async () => {
    await using sender = await open(clientOf(fallback([http(node.url), webSocket(proxy.url)])))
    proxy.take()
    await chainOfTransfers(sender, 3)
    expect(proxy.take()[SUBSCRIBE]).toBe(1)
  })

  test('are polled for when the subscription is silent, which is made again', async () => {
    await using sender = await open(clientOf(webSocket(proxy.url)))
    await chainOfTransfers(sender, 4)
    proxy.take()
    proxy.silent = true
    await chainOfTransfers(sender, 4 + Math.ceil(4_000 / periodMs))
    expect(proxy.take()[SUBSCRIBE]).toBeGreaterThanOrEqual(1)
    proxy.silent = false
    await chainOfTransfers(sender, 2)
  })

  test('are not missed when the socket closes in the middle of a burst: each transfer lands once', async () => {
    await using sender = await open(clientOf(webSocket(proxy.url)))
    await chainOfTransfers(sender, 2)
    const sent = await Promise.all(Array.from({ length: 50 }, (_, value) => sender.send(transfer(value))))
    proxy.drop()
    const landed = await Promise.all(sent.map((tx) => tx.wait('sealed')))
    expect(new Set(landed.map(({ hash }) => hash)).size).toBe(50)
    expect(await nonceOf(sender)).toBe(52)
    proxy.take()
    await chainOfTransfers(sender, 3)
    expect(await nonceOf(sender)).toBe(55)
  })

  test('arrive over one subscription for two sockets, and over the other one when its socket closes', async () => {
    const url = `${proxy.url}/?key=${SECRET}`
    // viem has one socket for transports with the same options.
    const [first, second] = [webSocket(url), webSocket(url, { keepAlive: false })]
    await using _ = {
      async [Symbol.asyncDispose]() {
        await Promise.all([first, second].map(closeSocket))
      },
    }
    const lines: string[] = []
    const write = (...line: unknown[]) => void lines.push(inspect(line, { depth: 9 }))
    const logger = { debug: write, info: write, warn: write, error: write }
    const before = proxy.sockets
    await using one = await open(clientOf(first), logger)
    await using other = await open(clientOf(second), logger)
    proxy.take()
    await chainOfTransfers(one, 2)
    await chainOfTransfers(other, 2)
    expect(proxy.sockets - before).toBe(2)
    expect(proxy.take()[SUBSCRIBE]).toBe(1)
    await closeSocket(first)
    await chainOfTransfers(other, 4)
    expect(proxy.take()[SUBSCRIBE]).toBe(1)
    await chainOfTransfers(one, 2)
    expect(await Promise.all([one, other].map(nonceOf))).toEqual([4, 6])
    write(one.snapshot(), other.snapshot())
    expect(lines.join()).not.toContain(SECRET)
  })

  test('are not announced to a sender that is closed', async () => {
    const sender = await open(clientOf(webSocket(proxy.url)))
    await chainOfTransfers(sender, 1)
    proxy.take()
    await sender.close()
    await until(async () => (proxy.take().eth_unsubscribe ?? 0) > 0)
  })
})

/** The socket of all transports like this one: viem keeps it, and connects again for as long as it is open. */
async function closeSocket(transport: ReturnType<typeof webSocket>): Promise<void> {
  const client = await transport({}).value?.getRpcClient()
  client?.close()
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < LOOKS; looks++, await pause(LOOK_MS)) if (await holds()) return
  throw new Error('it never held')
}
