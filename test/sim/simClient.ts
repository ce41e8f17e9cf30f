import {
  type Address,
  type Chain,
  type Client,
  createClient,
  custom,
  defineChain,
  type LocalAccount,
  type Transport,
} from 'viem'
import { call, type Port } from '../../src/rpc/port.js'
import type { Signatures } from '../../src/rpc/signatures.js'

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

const nameIn = (signed: unknown): Address => `0x${String((signed as { r?: unknown }).r).slice(-40)}`

/** Reads the signature of the stub account, which is its address, in place of a recovery. */
export const simSignatures: Signatures = {
  signerOf: async (transaction) => nameIn(transaction),
  authorityOf: async (tuple) => nameIn(tuple),
}
