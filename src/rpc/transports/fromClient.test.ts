import { type Client, createClient, custom, defineChain, fallback, http, webSocket } from 'viem'
import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { clientPorts, portsOfClient } from './fromClient.js'

const kindsOf = (client: Client) => portsOfClient(client).map(({ kind, name }) => `${kind} ${name}`)

describe('a viem client is taken apart', () => {
  test('`http` into its URL, or the one of its chain', () => {
    expect(kindsOf(createClient({ transport: http('http://localhost:1/key') }))).toEqual([
      'http http://localhost:1',
    ])
    const chain = defineChain({
      id: 1,
      name: 'One',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: ['http://localhost:4/key', 'http://localhost:5'] } },
    })
    expect(kindsOf(createClient({ chain, transport: http() }))).toEqual(['http http://localhost:4'])
  })

  test('`fallback` into a port for each transport, nested ones too, in the order given', () => {
    const transport = fallback([
      http('http://localhost:1'),
      fallback([http('http://localhost:2'), webSocket('ws://localhost:3')]),
      custom({ request: async () => null }, { name: 'Wallet' }),
    ])
    expect(kindsOf(createClient({ transport }))).toEqual([
      'http http://localhost:1',
      'http http://localhost:2',
      'webSocket WebSocket JSON-RPC',
      'custom Wallet',
    ])
  })

  test('with its fetch options, its timeout and the fetch that is given again', async () => {
    const clock = createVirtualClock()
    const inits: RequestInit[] = []
    const fetchFn = (async (_: string, init: RequestInit) => {
      inits.push(init)
      return new Promise(() => {})
    }) as unknown as typeof fetch
    const transport = http('http://localhost:1', {
      fetchOptions: { headers: { 'x-api': 'k' } },
      timeout: 700,
    })
    const [port] = portsOfClient(createClient({ transport }), { clock, fetchFn })
    const replies = port!.batch([{ method: 'eth_chainId', params: [] }])
    await clock.advance(700)
    expect(await replies).toMatchObject([{ failure: { kind: 'timeout' } }])
    expect((inits[0]!.headers as Headers).get('x-api')).toBe('k')
  })

  test('with what its `methods` leave it: excluded methods are answered without a request', async () => {
    const asked: string[] = []
    const provider = { request: async ({ method }: { method: string }) => asked.push(method) }
    const transport = custom(provider, { methods: { exclude: ['eth_sendRawTransaction'] } })
    const [port] = portsOfClient(createClient({ transport }))
    const replies = await port!.batch([
      { method: 'eth_chainId', params: [] },
      { method: 'eth_sendRawTransaction', params: ['0x'] },
      { method: 'eth_blockNumber', params: [] },
    ])
    expect(replies).toMatchObject([{ result: 1 }, { failure: { kind: 'rpc', code: -32004 } }, { result: 2 }])
    expect(asked).toEqual(['eth_chainId', 'eth_blockNumber'])
  })

  test('into endpoints for reads, for sends, or for both', () => {
    const provider = { request: async () => null }
    const transport = fallback([
      custom(provider, { methods: { include: ['eth_sendRawTransaction'] } }),
      custom(provider, { methods: { exclude: ['eth_sendRawTransaction'] } }),
      custom(provider),
    ])
    expect(clientPorts(createClient({ transport })).map(({ role }) => role)).toEqual(['send', 'read', 'both'])
  })
})
