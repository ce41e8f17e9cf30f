import { type Address, type Hex, hexToNumber } from 'viem'
import type { PlainRpc } from '../demo/plainRpc.js'
import { type ExecutedTx, walkBlocks } from '../demo/walk.js'

/** The state of one account on the chain. */
export type ChainFacts = {
  readonly executed: readonly ExecutedTx[]
  readonly latestCount: number
  readonly pendingCount: number
  /** The nonces of transactions in the node's pool. */
  readonly waiting: readonly number[]
}

/** Nonces of the account's transactions in the node's pool. */
export type Waiting = (account: Address) => readonly number[]

/** Reads every sealed block after `after` once, for all accounts, without any code under test. */
export async function readChain(options: {
  readonly rpc: PlainRpc
  readonly accounts: readonly Address[]
  readonly after: number
  readonly waiting: Waiting
}): Promise<readonly ChainFacts[]> {
  const { rpc, accounts, after, waiting } = options
  const { transactions } = await walkBlocks(rpc, accounts, after)
  return Promise.all(
    accounts.map(async (account) => {
      const [latest, pending] = await rpc.all([
        ['eth_getTransactionCount', account, 'latest'],
        ['eth_getTransactionCount', account, 'pending'],
      ])
      return {
        executed: transactions.get(account) ?? [],
        latestCount: hexToNumber(latest as Hex),
        pendingCount: hexToNumber(pending as Hex),
        waiting: waiting(account),
      }
    }),
  )
}

export function waitingIn(pool: readonly { readonly from: string; readonly nonce: number }[]): Waiting {
  return (account) =>
    pool.filter(({ from }) => from.toLowerCase() === account.toLowerCase()).map(({ nonce }) => nonce)
}
