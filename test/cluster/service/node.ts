import { type Address, type Hex, hexToNumber, toHex } from 'viem'
import { startDevnet } from '../../../tools/devnet/index.js'
import { createPlainRpc, type PlainRpc } from '../../demo/plainRpc.js'
import { findGeth, gethCommand } from '../../nodes/find/geth.js'
import { startNodeProcess } from '../../nodes/run/nodeProcess.js'
import { pause } from '../../support/pause.js'

/** The chain of the services. */
export type ServiceNode = AsyncDisposable & {
  readonly kind: 'geth' | 'devnet'
  readonly url: string
  readonly chainId: number
  readonly rpc: PlainRpc
  /** Resolves once each account has this balance. */
  fund(accounts: readonly Address[], wei: bigint): Promise<void>
}

const DEVNET = { blockTimeMs: 400, flashblockMs: 200 }
const LOOK_MS = 100

/** A stock geth with a block every second if there is one, else the devnet. */
export async function startServiceNode(seed: number): Promise<ServiceNode> {
  const file = await findGeth()
  return file === undefined ? startDevnetNode(seed) : startGethNode(file)
}

async function startGethNode(file: string): Promise<ServiceNode> {
  const { url, rpc, ...running } = await startNodeProcess(gethCommand(file), ['--dev.period', '1'])
  return {
    kind: 'geth',
    url,
    rpc,
    chainId: hexToNumber((await rpc.call('eth_chainId')) as Hex),
    async fund(accounts, wei) {
      const [from] = (await rpc.call('eth_accounts')) as Hex[]
      for (const to of accounts) await rpc.call('eth_sendTransaction', { from, to, value: toHex(wei) })
      await Promise.all(accounts.map((account) => paid(rpc, account)))
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

async function startDevnetNode(seed: number): Promise<ServiceNode> {
  const devnet = await startDevnet({ ...DEVNET, seed, accounts: 1 })
  const rpc = createPlainRpc(devnet.url)
  return {
    kind: 'devnet',
    url: devnet.url,
    rpc,
    chainId: devnet.chain.id,
    async fund(accounts, wei) {
      await rpc.all(accounts.map((account) => ['anvil_setBalance', account, toHex(wei)]))
    },
    [Symbol.asyncDispose]: () => devnet.stop(),
  }
}

async function paid(rpc: PlainRpc, account: Address): Promise<void> {
  while (BigInt((await rpc.call('eth_getBalance', account, 'latest')) as Hex) === 0n) await pause(LOOK_MS)
}
