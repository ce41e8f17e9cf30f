import type { Address, Hex } from 'viem'
import type { DecodedTx } from '../rpc/decode.js'
import type { Offer, PoolBook, PooledTx } from './poolBook.js'
import {
  type AccountState,
  type ChainLimits,
  costOf,
  type PoolRules,
  refusedAsUnprotected,
  refusedByItself,
} from './poolRules.js'

type PooledAccount = {
  state: AccountState
  readonly byNonce: Map<number, PooledTx>
  /** The first nonce after the executable run, which starts at the account's nonce. */
  end: number
  /** Maximum total cost of the executable run. */
  runCost: bigint
}

export type BaseBookOptions = {
  readonly rules: PoolRules
  readonly chain: ChainLimits
  /** Maximum number of transactions of all accounts. */
  readonly countMax: number
}

/**
 * The records of a pool with Base's rules and geth's error messages; docs/node-models.md lists the sources.
 */
export function createBaseBook({ rules, chain, countMax }: BaseBookOptions): PoolBook {
  const byHash = new Map<Hex, PooledTx>()
  const accounts = new Map<Address, PooledAccount>()
  let arrivals = 0

  function put(entry: Offer & { readonly foreign: boolean }, state: AccountState): void {
    let account = accounts.get(entry.from)
    if (account === undefined) {
      account = { state, byNonce: new Map(), end: state.nonce, runCost: 0n }
      accounts.set(entry.from, account)
    }
    const { nonce } = entry.tx
    const old = account.byNonce.get(nonce)
    if (old !== undefined) byHash.delete(old.tx.hash)
    const pooled = { ...entry, order: arrivals }
    arrivals += 1
    account.byNonce.set(nonce, pooled)
    byHash.set(entry.tx.hash, pooled)
    if (old !== undefined && nonce < account.end) account.runCost += costOf(entry.tx) - costOf(old.tx)
    extend(account)
  }

  function drop(account: PooledAccount, from: Address, nonce: number): void {
    const entry = account.byNonce.get(nonce)
    if (entry === undefined) return
    account.byNonce.delete(nonce)
    byHash.delete(entry.tx.hash)
    if (account.byNonce.size === 0) accounts.delete(from)
  }

  return {
    get: (hash) => byHash.get(hash),
    holds: (from, nonce) => accounts.get(from)?.byNonce.has(nonce) === true,
    senders: () => [...accounts.keys()],
    entries: () => byHash.values(),
    runs: () => [...accounts.values()].map((account) => split(account).pending),
    parts(from) {
      const account = accounts.get(from)
      return account === undefined ? { pending: [], queued: [] } : split(account)
    },
    runEnd: (from) => accounts.get(from)?.end,
    put,
    offer(offer, state) {
      const { tx, from } = offer
      if (byHash.has(tx.hash)) return 'already known'
      const account = accounts.get(from)
      const refusal =
        refusedAsUnprotected(tx) ?? refusedByItself(tx, chain) ?? refusedByPool(tx, account, state, rules)
      if (refusal !== undefined) return refusal
      if (byHash.size >= countMax && !account?.byNonce.has(tx.nonce)) return 'txpool is full'
      put({ ...offer, foreign: false }, state)
      const pooled = accounts.get(from)!
      for (const nonce of beyondGapLimit(pooled, rules)) drop(pooled, from, nonce)
      return undefined
    },
    remove(hash) {
      const entry = byHash.get(hash)
      const account = entry && accounts.get(entry.from)
      if (entry === undefined || account === undefined) return false
      drop(account, entry.from, entry.tx.nonce)
      rebuild(account)
      return true
    },
    // Here a transaction is executable as soon as it was added.
    reorganise: () => undefined,
    refresh(states) {
      for (const [from, state] of states) {
        const account = accounts.get(from)
        if (account === undefined) continue
        account.state = state
        for (const [nonce, { tx }] of [...account.byNonce]) {
          if (nonce < state.nonce || costOf(tx) > state.balance) drop(account, from, nonce)
        }
        rebuild(account)
      }
    },
  }
}

function split({ state, byNonce, end }: PooledAccount): Record<'pending' | 'queued', PooledTx[]> {
  const pending: PooledTx[] = []
  for (let nonce = state.nonce; nonce < end; nonce += 1) pending.push(byNonce.get(nonce)!)
  const rest = byNonce.size === pending.length ? [] : [...byNonce.values()]
  const queued = rest.filter(({ tx }) => tx.nonce >= end).sort((a, b) => a.tx.nonce - b.tx.nonce)
  return { pending, queued }
}

function extend(account: PooledAccount): void {
  for (;;) {
    const next = account.byNonce.get(account.end)
    if (next === undefined) return
    account.runCost += costOf(next.tx)
    account.end += 1
  }
}

function rebuild(account: PooledAccount): void {
  account.end = account.state.nonce
  account.runCost = 0n
  extend(account)
}

// The nonces are sorted only when the limit is exceeded, so that a burst in order pays nothing here.
function beyondGapLimit(account: PooledAccount, rules: PoolRules): number[] {
  const run = account.end - account.state.nonce
  if (account.byNonce.size - run <= rules.gappedMax) return []
  const gapped = [...account.byNonce.keys()].filter((nonce) => nonce >= account.end).sort((a, b) => a - b)
  return gapped.slice(rules.gappedMax)
}

/**
 * Both fees must rise by a tenth at least (reth crates/transaction-pool, `PriceBumpConfig`). reth rounds the
 * minimum up; geth rounds it down.
 */
function replaces(next: DecodedTx, old: DecodedTx): boolean {
  return (
    next.maxFeePerGas > old.maxFeePerGas &&
    next.maxPriorityFeePerGas > old.maxPriorityFeePerGas &&
    next.maxFeePerGas * 100n >= old.maxFeePerGas * 110n &&
    next.maxPriorityFeePerGas * 100n >= old.maxPriorityFeePerGas * 110n
  )
}

/** geth's checks against the state and the account's other transactions, in geth's order. */
function refusedByPool(
  tx: DecodedTx,
  account: PooledAccount | undefined,
  state: AccountState,
  rules: PoolRules,
): string | undefined {
  if (tx.nonce < state.nonce) return `nonce too low: next nonce ${state.nonce}, tx nonce ${tx.nonce}`
  const old = account?.byNonce.get(tx.nonce)
  return (
    refusedForFunds(tx, old?.tx, account?.runCost ?? 0n, state.balance) ??
    refusedAsDelegated(tx, account, state, rules) ??
    (old !== undefined && !replaces(tx, old.tx) ? 'replacement transaction underpriced' : undefined)
  )
}

function refusedForFunds(
  tx: DecodedTx,
  old: DecodedTx | undefined,
  queued: bigint,
  balance: bigint,
): string | undefined {
  const short = 'insufficient funds for gas * price + value'
  const cost = costOf(tx)
  if (cost > balance) return `${short}: balance ${balance}, tx cost ${cost}, overshot ${cost - balance}`
  const more = old === undefined ? cost : cost - costOf(old)
  if (queued + more <= balance) return undefined
  const kind = old === undefined ? 'tx cost' : 'tx bumped'
  return `${short}: balance ${balance}, queued cost ${queued}, ${kind} ${more}, overshot ${queued + more - balance}`
}

function refusedAsDelegated(
  tx: DecodedTx,
  account: PooledAccount | undefined,
  state: AccountState,
  rules: PoolRules,
): string | undefined {
  if (!state.delegated || account?.byNonce.has(tx.nonce)) return undefined
  const end = account?.end ?? state.nonce
  if (end - state.nonce >= rules.delegatedMax)
    return 'in-flight transaction limit reached for delegated accounts'
  return tx.nonce === end ? undefined : 'gapped-nonce tx from delegated accounts'
}
