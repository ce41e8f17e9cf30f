import type { Address, Hex } from 'viem'
import { size } from 'viem'
import type { Clock } from '../../../src/platform/clock.js'
import { createGethPool } from '../geth/gethPool.js'
import { createLocalTracker } from '../geth/localTracker.js'
import type { GethHead, PoolTransaction } from '../geth/poolTypes.js'
import type { Offer, PoolBook, PooledTx } from './poolBook.js'
import {
  type AccountState,
  type ChainLimits,
  costOf,
  refusedByItself,
  refusedByRpc,
  slotsOf,
} from './poolRules.js'

export type GethBookOptions = {
  readonly chain: ChainLimits
  /** Limit for the executable transactions of all accounts. */
  readonly globalSlots: number
  readonly clock: Clock
}

type Entry = PoolTransaction & { readonly hash: Hex; readonly pooled: PooledTx }

/**
 * The records of a pool with geth's rules: the model of geth's pool, and the transactions that geth
 * resubmits.
 */
export function createGethBook({ chain, globalSlots, clock }: GethBookOptions): PoolBook {
  let states: ReadonlyMap<Address, AccountState> = new Map()
  const met = new Map<Address, AccountState>()
  let arrivals = 0
  const pool = createGethPool<Entry>({
    head: headAt(undefined),
    limits: { globalSlots },
    tipWeiMin: chain.tipWeiMin,
    refuse: ({ pooled }) => refusedByItself(pooled.tx, chain),
  })
  const tracker = createLocalTracker(pool, clock.now())

  function stateOf(address: string): AccountState {
    return states.get(address as Address) ?? met.get(address as Address) ?? UNKNOWN
  }

  function headAt(nextBaseFeeWei: bigint | undefined): GethHead {
    return {
      gasLimit: chain.gasLimit,
      nextBaseFeeWei,
      account(address) {
        const { nonce, balance, delegated } = stateOf(address)
        return { nonce, balanceWei: balance, hasCode: delegated }
      },
    }
  }

  function entryOf(offer: Offer, foreign: boolean): Entry {
    const { tx, from, authorities } = offer
    const { hash, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = tx
    const pooled = { ...offer, foreign, order: arrivals++ }
    const fees = { gas, maxFeePerGas, maxPriorityFeePerGas, costWei: costOf(tx) }
    return { hash, from, nonce, ...fees, slots: slotsOf(size(tx.raw)), authorities, pooled }
  }

  const addresses = () => pool.addresses() as readonly Address[]
  const pooledOf = (entries: readonly Entry[]) => entries.map(({ pooled }) => pooled)

  return {
    get: (hash) => pool.get(hash)?.pooled,
    holds: (from, nonce) =>
      [...pool.pending(from), ...pool.queued(from)].some((entry) => entry.nonce === nonce),
    senders: () => [...new Set([...addresses(), ...(tracker.addresses() as readonly Address[])])],
    entries: () => addresses().flatMap((from) => pooledOf([...pool.pending(from), ...pool.queued(from)])),
    runs: () => addresses().map((from) => pooledOf(pool.pending(from))),
    parts: (from) => ({ pending: pooledOf(pool.pending(from)), queued: pooledOf(pool.queued(from)) }),
    runEnd: (from) => (states.has(from) || met.has(from) ? pool.count(from) : undefined),
    put(offer, state) {
      if (!states.has(offer.from)) met.set(offer.from, state)
      pool.place(entryOf(offer, offer.foreign))
    },
    offer(offer, state) {
      if (!states.has(offer.from)) met.set(offer.from, state)
      return refusedByRpc(offer.tx) ?? tracker.send(entryOf(offer, false))
    },
    remove(hash) {
      tracker.forget(hash)
      return pool.remove(hash)
    },
    reorganise: pool.reorganise,
    refresh(next, baseFeePerGas) {
      // Senders that arrived while the block was made keep the state that was read for them.
      const kept = addresses().flatMap((from) => (next.has(from) ? [] : [[from, stateOf(from)] as const]))
      states = new Map([...next, ...kept])
      met.clear()
      pool.reset(headAt(baseFeePerGas))
      tracker.resubmitDue(clock.now(), (address) => stateOf(address).nonce)
      pool.reorganise()
    },
  }
}

const UNKNOWN: AccountState = { nonce: 0, balance: 0n, delegated: false }
