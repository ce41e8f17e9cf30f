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
import { type FaultEntry, startDevnet } from '../../devnet/index.js'
import type { DemoTarget, FaultPresetName } from './options.js'
import { createPlainRpc, type PlainRpc } from './plainRpc.js'

export type Traffic = { readonly requests: number; readonly calls: number }

/** The chain that the burst goes to. */
export type Target = {
  /** Safe to print. */
  readonly name: string
  readonly client: Client<HttpTransport, Chain, LocalAccount>
  /** For the check and for setting up: plain calls that the sender does not see. */
  readonly rpc: PlainRpc
  readonly senderOptions: { readonly lossDepth?: 'child'; readonly starved?: 'fail' }
  /** What the node itself has counted; undefined where it cannot be asked. */
  traffic(): Traffic | undefined
  startFaults(): void
  /**
   * Ends the faults and seals a block, so that nothing hangs on the last one. Resolves to its number, or to
   * undefined where there were no faults to end.
   */
  endFaults(): Promise<number | undefined>
  faultLog(): readonly FaultEntry[]
  /** Nonces of an account's transactions in the pool; none where it cannot be seen. */
  waiting(account: Address): Promise<readonly number[]>
  stop(): Promise<void>
}

export function openTarget(target: DemoTarget, seed: number): Promise<Target> {
  return target.kind === 'devnet' ? openDevnet(target.faults, seed) : openNode(target.url, target.key)
}

async function openDevnet(faults: FaultPresetName, seed: number): Promise<Target> {
  const devnet = await startDevnet({ seed })
  return {
    name: 'devnet',
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

/** @throws Error when the node does not answer, or the account has no money. */
async function openNode(url: string, key: Hex): Promise<Target> {
  const rpc = createPlainRpc(url)
  const account = privateKeyToAccount(key)
  const id = hexToNumber((await rpc.call('eth_chainId')) as Hex)
  const balance = hexToBigInt((await rpc.call('eth_getBalance', account.address, 'latest')) as Hex)
  if (balance === 0n) throw new Error(`${account.address} has no money on chain ${id} to pay for gas with.`)
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
    // A real account runs dry for good: waiting for money would look like a run that is stuck.
    senderOptions: { starved: 'fail' },
    traffic: () => undefined,
    startFaults: () => undefined,
    endFaults: async () => undefined,
    faultLog: () => [],
    waiting: async () => [],
    stop: async () => undefined,
  }
}
