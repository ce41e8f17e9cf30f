import type { Address } from 'viem'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import type { AccountState } from './poolRules.js'

/** Account states after the newest flashblock, read from anvil on demand. */
export type StateCache = {
  /** State of an account that `withStates` has read. */
  get(address: Address): AccountState
  /** Reads the missing states, and runs `then` in the same turn as the check that all are present. */
  withStates(senders: readonly (Address | undefined)[], then: () => void): Promise<void>
  /** Replaces all states by those of a new flashblock. */
  replace(fresh: ReadonlyMap<Address, AccountState>): void
}

export function createStateCache(rpc: AnvilRpc): StateCache {
  let states = new Map<Address, AccountState>()
  let epoch = 0

  return {
    get: (address) => states.get(address)!,
    async withStates(senders, then) {
      const wanted = [...new Set(senders)].filter((from) => from !== undefined)
      for (;;) {
        const absent = wanted.filter((from) => !states.has(from))
        if (absent.length === 0) return then()
        const readAt = epoch
        const read = await readAccountStates(rpc, absent)
        // A state belongs to one flashblock: if another one arrived during the read, the state is read again.
        if (readAt === epoch) for (const [from, state] of read) states.set(from, state)
      }
    },
    replace(fresh) {
      epoch += 1
      states = new Map(fresh)
    },
  }
}

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
