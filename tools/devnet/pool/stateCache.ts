import type { Address } from 'viem'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import { readAccountStates } from './accountStates.js'
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
