import { createGethPool as createModel } from '../../tools/devnet/geth/gethPool.js'
import {
  GETH_LIMITS,
  type GethLimits as ModelLimits,
  type PoolTransaction,
} from '../../tools/devnet/geth/poolTypes.js'

/**
 * The model of geth's pool, reduced to nonces of equal price. `reorganise` runs some time after an answer.
 */
export type GethPool = {
  add(account: string, nonce: number): 'added' | 'known' | 'low' | 'underpriced'
  reorganise(): void
  /** A block used all nonces of the account below `nonce`. */
  advance(account: string, nonce: number): void
  /** `eth_getTransactionCount` at `pending`. */
  count(account: string): number
  /** Executable nonces, in order. */
  pending(account: string): readonly number[]
  queued(account: string): readonly number[]
  /** Transactions that were dropped after `add` had returned `added`. */
  readonly dropped: number
}

export { GETH_LIMITS }

export type GethLimits = Omit<ModelLimits, 'priceBump'>

const PLENTY_WEI = 10n ** 30n

export function createGethPool(limits: GethLimits = GETH_LIMITS): GethPool {
  const nonces = new Map<string, number>()
  const head = {
    gasLimit: PLENTY_WEI,
    nextBaseFeeWei: undefined,
    account: (name: string) => ({
      nonce: nonces.get(name) ?? 0,
      balanceWei: PLENTY_WEI,
      hasCode: false,
    }),
  }
  const pool = createModel<PoolTransaction>({ head, limits })
  let dropped = 0

  /** Counts the transactions that leave the pool without a block. */
  function counting(used: number, act: () => void): void {
    const before = pool.size
    act()
    dropped += before - used - pool.size
  }

  return {
    add(from, nonce) {
      const error = pool.add(equallyPriced(from, nonce))
      if (error === undefined) return 'added'
      if (error.message === 'already known') return 'known'
      return error.message.startsWith('nonce too low') ? 'low' : 'underpriced'
    },
    reorganise: () => counting(0, pool.reorganise),
    advance(name, nonce) {
      const used = [...pool.pending(name), ...pool.queued(name)].filter((tx) => tx.nonce < nonce).length
      nonces.set(name, nonce)
      counting(used, () => pool.reset(head))
    },
    count: pool.count,
    pending: (name) => pool.pending(name).map(({ nonce }) => nonce),
    queued: (name) => pool.queued(name).map(({ nonce }) => nonce),
    get dropped() {
      return dropped
    },
  }
}

function equallyPriced(from: string, nonce: number): PoolTransaction {
  return {
    hash: `${from} ${nonce}`,
    from,
    nonce,
    gas: 21_000n,
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
    costWei: 21_000n,
    slots: 1,
    authorities: [],
  }
}
