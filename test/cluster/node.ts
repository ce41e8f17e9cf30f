import type { Address } from 'viem'
import { createPlainRpc, type PlainRpc } from '../../src/cli/demo/plainRpc.js'
import { createAccounts } from '../../src/devnet/accounts.js'
import { startDevnet } from '../../src/devnet/index.js'
import { startAnvil } from '../support/anvil.js'

/** The chain of a run, as the check and the processes need it. */
export type Node = AsyncDisposable & {
  readonly url: string
  readonly chainId: number
  readonly blockTimeMs: number
  readonly accounts: readonly Address[]
  readonly rpc: PlainRpc
  /** Nonces of the account's transactions in the node's pool. */
  waiting(): Promise<(account: Address) => readonly number[]>
}

// Faster than chains are, so that there are many blocks, and slower than a busy machine is.
const BLOCKS = { blockTimeMs: 400, flashblockMs: 200 }
const ANVIL_BLOCK_MS = 200

/** The devnet; or, to measure without its gateway, anvil itself. */
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
    async waiting() {
      const pool = await devnet.pool()
      return (account) => noncesOf(pool, account)
    },
    [Symbol.asyncDispose]: () => devnet.stop(),
  }
}

async function startBareNode(accounts: readonly Address[]): Promise<Node> {
  // Blocks are made by anvil's own clock: the flag that the helper begins with would keep it from that.
  const anvil = await startAnvil(['--chain-id=31337', '--gas-limit=300000000', '--base-fee=1000000000'])
  await anvil.request('anvil_setIntervalMining', [0])
  await anvil.request('evm_setIntervalMining', [ANVIL_BLOCK_MS / 1_000])
  for (const account of accounts)
    await anvil.request('anvil_setBalance', [account, `0x${(10n ** 22n).toString(16)}`])
  return {
    url: anvil.url,
    chainId: 31_337,
    blockTimeMs: ANVIL_BLOCK_MS,
    accounts,
    rpc: createPlainRpc(anvil.url),
    async waiting() {
      const { pending = {}, queued = {} } = (await anvil.request('txpool_content')) as TxPool
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

function noncesOf(pool: readonly { from: string; nonce: number }[], account: Address): readonly number[] {
  return pool.filter(({ from }) => from.toLowerCase() === account.toLowerCase()).map(({ nonce }) => nonce)
}
