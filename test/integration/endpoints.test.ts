import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient, type Hex, http, type LocalAccount } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createSender, memoryStore, type Sender, type SenderParameters } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { rpc } from './devnetSupport.js'

/** A separate node as far as its clients can see; it stands in front of the one devnet. */
type Gateway = {
  readonly url: string
  /** The raw transactions that it received. */
  readonly raws: Hex[]
  readonly methods: Set<string>
  /** If true, it breaks every connection. */
  down: boolean
  stop(): Promise<void>
}

let devnet: Devnet
const gateways: Gateway[] = []
const opened: Sender[] = []
let nextAccount = 0

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 20 })
})
afterEach(async () => {
  for (const gateway of gateways) gateway.down = false
  await Promise.all(opened.splice(0).map((sender) => sender.close()))
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()))
})
afterAll(() => devnet.stop())

async function startGateway(): Promise<Gateway> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', async () => {
      if (gateway.down) return request.socket.destroy()
      const text = Buffer.concat(parts).toString()
      const body = JSON.parse(text) as { method: string; params: Hex[] } | { method: string; params: Hex[] }[]
      for (const { method, params } of [body].flat()) {
        gateway.methods.add(method)
        if (method === 'eth_sendRawTransaction' && params[0]) gateway.raws.push(params[0])
      }
      try {
        const answer = await fetch(devnet.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: text,
        })
        response.writeHead(answer.status, { 'content-type': 'application/json' })
        response.end(await answer.text())
      } catch {
        // The node closed the connection: the gateway does the same.
        request.socket.destroy()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const gateway: Gateway = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    raws: [],
    methods: new Set(),
    down: false,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  gateways.push(gateway)
  return gateway
}

const clientOf = ({ url }: Gateway) =>
  createClient({ chain: devnet.chain, transport: http(url, { retryCount: 0 }) })

async function open(broadcast: 'first' | 'all') {
  const [first, second, relay] = [await startGateway(), await startGateway(), await startGateway()]
  const account = devnet.accounts[nextAccount++] as LocalAccount
  const sender = createSender({
    account,
    client: clientOf(first),
    endpoints: [{ client: clientOf(second) }, { client: clientOf(relay), role: 'send' }],
    broadcast,
    store: memoryStore(),
    limits: { pollIntervalMs: 50, stuckAfterMs: 300, gapFillAfterMs: 200 },
  } as SenderParameters<typeof devnet.chain, undefined>)
  opened.push(sender as unknown as Sender)
  const reported: string[] = []
  sender.on('endpoint', ({ name, change }) => change !== 'profile' && reported.push(`${name} ${change}`))
  await sender.ready()
  return { sender, account, first, second, relay, reported }
}

const distinct = ({ raws }: Gateway) => new Set(raws).size

const transfer = { to: '0x000000000000000000000000000000000000dEaD', value: 1n, gas: 21_000n } as const

describe('several endpoints, on the real devnet', () => {
  test.each(['first', 'all'] as const)(
    'broadcast %s: the read endpoint goes down during a burst; each lands once, and another endpoint is read',
    async (broadcast) => {
      const { sender, account, first, second, reported } = await open(broadcast)
      const sending = Array.from({ length: 40 }, () => sender.send(transfer, { until: 'queued' }))
      const txs = await Promise.all(sending)
      await txs[0]?.wait('preconfirmed')
      first.down = true
      const late = await Promise.all(
        Array.from({ length: 10 }, () => sender.send(transfer, { until: 'queued' })),
      )
      const landed = await Promise.all([...txs, ...late].map((tx) => tx.wait('sealed')))
      expect(new Set(landed.map(({ nonce }) => nonce)).size).toBe(50)
      const count = await rpc<Hex>(devnet.url, 'eth_getTransactionCount', account.address, 'latest')
      expect(Number(count)).toBe(50)
      expect(reported).toEqual(expect.arrayContaining([`${first.url} down`, `${second.url} reader`]))
    },
    60_000,
  )

  test('a private transaction reaches only the send endpoint, which is never read', async () => {
    const { sender, first, second, relay } = await open('all')
    const tx = await sender.send(transfer, { private: true })
    await tx.wait('sealed')
    expect([first.raws, second.raws]).toEqual([[], []])
    // A transaction that takes long to become visible is sent again, with the same bytes.
    expect(distinct(relay)).toBe(1)
    const known = await sender.send(transfer)
    await known.wait('sealed')
    expect([first, second, relay].map(distinct)).toEqual([1, 1, 2])
    // The endpoint is only asked for its chain, once.
    expect([...relay.methods].sort()).toEqual([
      'eth_chainId',
      'eth_getBlockByNumber',
      'eth_sendRawTransaction',
    ])
  }, 30_000)
})
