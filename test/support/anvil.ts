import { type Address, defineChain, type Hash, type Hex } from 'viem'
import { systemClock } from '../../src/platform/clock.js'
import { call, type Port } from '../../src/rpc/port.js'
import { createHttpPort } from '../../src/rpc/transports/http.js'
import { findAnvil, startAnvil as startProcess } from '../../tools/devnet/anvilProcess.js'

/**
 * The chain of an anvil without options. It is not imported from `viem/chains`: importing one definition
 * loads them all, which takes a second.
 */
export const anvilChain = defineChain({
  id: 31_337,
  name: 'Anvil',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: ['http://127.0.0.1:8545'] } },
})

export type TestAnvil = AsyncDisposable & {
  readonly url: string
  readonly port: Port
  /** One JSON-RPC call. If it brings no result, the test fails with anvil's own message. */
  request(method: string, params?: readonly unknown[]): Promise<unknown>
  /** Mines one block with all transactions of the pool, and returns its number and hash. */
  mine(): Promise<{ number: number; hash: Hash }>
  /** Takes the newest blocks off the chain. Their transactions do not return to the pool. */
  rollback(depth: number): Promise<void>
  /**
   * Puts a transfer of `value` from an account of anvil to itself into the pool. Anvil holds the account's
   * key.
   */
  transfer(from: Address, nonce: number, value?: number): Promise<Hash>
  stop(): Promise<void>
}

/** A plain anvil on a free loopback port that mines only on request. */
export async function startAnvil(args: readonly string[] = []): Promise<TestAnvil> {
  const node = await startProcess(findAnvil(undefined), ['--no-mining', ...args])
  const port = createHttpPort({ url: node.url, clock: systemClock })

  async function request(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const reply = await call(port, method, params)
    if (reply.ok) return reply.result
    throw new Error(`${method}: ${reply.failure.message}`)
  }

  async function stop(): Promise<void> {
    port.close()
    await node.stop()
  }

  return {
    url: node.url,
    port,
    request,
    async mine() {
      await request('evm_mine')
      const block = (await request('eth_getBlockByNumber', ['latest', false])) as { number: Hex; hash: Hash }
      return { number: Number(block.number), hash: block.hash }
    },
    async rollback(depth) {
      await request('anvil_rollback', [depth])
    },
    async transfer(from, nonce, value = 0) {
      const hex = (quantity: number): Hex => `0x${quantity.toString(16)}`
      const tx = { from, to: from, nonce: hex(nonce), value: hex(value), gas: hex(21_000) }
      return (await request('eth_sendTransaction', [tx])) as Hash
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
