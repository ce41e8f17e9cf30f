import {
  type Address,
  type Chain,
  type Client,
  createClient,
  defineChain,
  type Hex,
  type HttpTransport,
  hexToBigInt,
  hexToNumber,
  http,
  type LocalAccount,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type FaultEntry, startDevnet } from '../../tools/devnet/index.js'
import type { DemoTarget } from './options.js'
import { createPlainRpc, type PlainRpc } from './plainRpc.js'

export type Traffic = { readonly requests: number; readonly calls: number }

/** The chain of the burst. */
export type Target = {
  /** Safe to print. */
  readonly name: string
  readonly client: Client<HttpTransport, Chain, LocalAccount>
  /** For the check and the setup: calls that bypass the sender. */
  readonly rpc: PlainRpc
  readonly senderOptions: { readonly lossDepth?: 'child'; readonly starved?: 'fail' }
  /** The node's own counts; undefined if it does not provide them. */
  traffic(): Traffic | undefined
  startFaults(): void
  /**
   * Ends the faults and seals a block, so that no fault affects the last one. Resolves to its number, or to
   * undefined if there were no faults.
   */
  endFaults(): Promise<number | undefined>
  faultLog(): readonly FaultEntry[]
  /** Nonces of an account's pooled transactions; empty if the pool is not visible. */
  waiting(account: Address): Promise<readonly number[]>
  stop(): Promise<void>
}

export function openTarget(target: DemoTarget, seed: number): Promise<Target> {
  return target.kind === 'devnet' ? openDevnet(target, seed) : openNode(target.url, target.key)
}

async function openDevnet({ faults, mode }: DevnetTarget, seed: number): Promise<Target> {
  const devnet = await startDevnet({ seed, mode })
  return {
    name: mode === 'preconfirmed' ? 'devnet' : `devnet, ${mode}`,
    client: devnet.client() as unknown as Target['client'],
    rpc: createPlainRpc(devnet.url),
    senderOptions: { lossDepth: 'child' },
    traffic: () => ({ requests: devnet.stats.httpRequests, calls: devnet.stats.rpcCalls }),
    startFaults: () => devnet.faults.preset(faults),
    async endFaults() {
      if (faults === 'none') return undefined
      devnet.faults.clear()
      const { number } = await devnet.seal()
      return Number(number)
    },
    faultLog: () => devnet.faults.log(),
    async waiting(account) {
      const own = (await devnet.pool()).filter(({ from }) => from.toLowerCase() === account.toLowerCase())
      return own.map(({ nonce }) => nonce)
    },
    stop: () => devnet.stop(),
  }
}

type DevnetTarget = DemoTarget & { readonly kind: 'devnet' }

/** @throws Error if the node does not answer, or the account has no funds. */
async function openNode(url: string, key: Hex): Promise<Target> {
  const rpc = createPlainRpc(url)
  const account = privateKeyToAccount(key)
  const id = hexToNumber((await rpc.call('eth_chainId')) as Hex)
  const balance = hexToBigInt((await rpc.call('eth_getBalance', account.address, 'latest')) as Hex)
  if (balance === 0n) throw new Error(`${account.address} has no funds on chain ${id} to pay for gas.`)
  const chain = defineChain({
    id,
    name: `chain ${id}`,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  return {
    name: `${rpc.origin}, chain ${id}`,
    client: createClient({ account, chain, transport: http(url, { retryCount: 0 }) }),
    rpc,
    // Nothing refills a real account: a wait for funds would look like a stuck run.
    senderOptions: { starved: 'fail' },
    traffic: () => undefined,
    startFaults: () => undefined,
    endFaults: async () => undefined,
    faultLog: () => [],
    waiting: async () => [],
    stop: async () => undefined,
  }
}
