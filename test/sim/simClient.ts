import {
  type Chain,
  type Client,
  createClient,
  custom,
  defineChain,
  type LocalAccount,
  type Transport,
} from 'viem'
import { call, type Port } from '../../src/rpc/port.js'

/**
 * A viem client whose every request goes through a port, for the calls that a sender makes through viem
 * itself. It has no retries, because viem waits for them in real time.
 */
export function createSimClient(options: {
  readonly port: Port
  readonly chainId: number
  readonly account: LocalAccount
}): Client<Transport, Chain, LocalAccount> {
  const { port, chainId, account } = options
  const chain = defineChain({
    id: chainId,
    name: 'Simulated',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: ['http://127.0.0.1'] } },
  })
  const request = async ({ method, params }: { method: string; params?: unknown }): Promise<unknown> => {
    const reply = await call(port, method, Array.isArray(params) ? params : [])
    if (reply.ok) return reply.result
    throw Object.assign(new Error(reply.failure.message), reply.failure)
  }
  return createClient({
    account,
    chain,
    cacheTime: 0,
    transport: custom({ request }, { key: port.name, name: port.name, retryCount: 0 }),
  })
}
