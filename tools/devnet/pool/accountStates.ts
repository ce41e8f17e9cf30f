import type { Address } from 'viem'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import type { AccountState } from './poolRules.js'

const DELEGATION_PREFIX = '0xef0100'

/** Nonce, balance and delegation of accounts at anvil's newest block, in one request. */
export async function readAccountStates(
  rpc: AnvilRpc,
  addresses: readonly Address[],
): Promise<ReadonlyMap<Address, AccountState>> {
  const replies = await rpc.batch(
    addresses.flatMap((address) =>
      ['eth_getTransactionCount', 'eth_getBalance', 'eth_getCode'].map((method) => ({
        method,
        params: [address, 'latest'],
      })),
    ),
  )
  const value = (index: number) => {
    const reply = replies[index]
    return reply !== undefined && 'result' in reply ? (reply.result as string) : '0x0'
  }
  return new Map(
    addresses.map((address, index) => [
      address,
      {
        nonce: Number(value(index * 3)),
        balance: BigInt(value(index * 3 + 1)),
        delegated: value(index * 3 + 2).startsWith(DELEGATION_PREFIX),
      },
    ]),
  )
}
