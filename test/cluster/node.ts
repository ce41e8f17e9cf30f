import { type Address, toHex } from 'viem'
import { createAccounts } from '../../tools/devnet/accounts.js'
import { findAnvil, startAnvil } from '../../tools/devnet/anvilProcess.js'
import { startDevnet } from '../../tools/devnet/index.js'
import { createPlainRpc, type PlainRpc } from '../demo/plainRpc.js'
import { type Waiting, waitingIn } from '../sweep/chain.js'
import type { ChainSettings } from '../sweep/settings.js'

/** The chain of a run, as the check and the processes need it. */
export type Node = AsyncDisposable &
  ChainSettings & {
    readonly accounts: readonly Address[]
    readonly rpc: PlainRpc
    /** The transactions in the node's pool. */
    waiting(): Promise<Waiting>
  }

// Faster than real chains, so that there are many blocks, but slow enough for a busy machine.
const BLOCKS = { blockTimeMs: 400, flashblockMs: 200 }
const ANVIL_BLOCK_MS = 200
const BALANCE = toHex(10n ** 22n)

/** Starts the devnet; or anvil itself, to measure without the devnet's gateway. */
export async function startNode(kind: 'devnet' | 'anvil', count: number, seed: number): Promise<Node> {
  const accounts = createAccounts(count).map(({ address }) => address)
  if (kind === 'anvil') return startBareNode(accounts)
  const devnet = await startDevnet({ ...BLOCKS, seed, accounts: count })
  return {
    url: devnet.url,
    chainId: devnet.chain.id,
    blockTimeMs: BLOCKS.blockTimeMs,
    accounts,
    rpc: createPlainRpc(devnet.url),
    waiting: async () => waitingIn(await devnet.pool()),
    [Symbol.asyncDispose]: () => devnet.stop(),
  }
}

async function startBareNode(accounts: readonly Address[]): Promise<Node> {
  const flags = ['--accounts=0', '--chain-id=31337', '--gas-limit=300000000', '--base-fee=1000000000']
  const anvil = await startAnvil(findAnvil(undefined), [...flags, `--block-time=${ANVIL_BLOCK_MS / 1_000}`])
  const rpc = createPlainRpc(anvil.url)
  await rpc.all(accounts.map((account) => ['anvil_setBalance', account, BALANCE]))
  return {
    url: anvil.url,
    chainId: 31_337,
    blockTimeMs: ANVIL_BLOCK_MS,
    accounts,
    rpc,
    async waiting() {
      const { pending = {}, queued = {} } = (await rpc.call('txpool_content')) as TxPool
      return (account) =>
        [pending, queued].flatMap((part) => {
          const key = Object.keys(part).find((from) => from.toLowerCase() === account.toLowerCase())
          return Object.keys(part[key ?? ''] ?? {}).map(Number)
        })
    },
    [Symbol.asyncDispose]: () => anvil.stop(),
  }
}

type TxPool = { readonly [part in 'pending' | 'queued']?: Readonly<Record<string, object>> }
