import type { Address, Hex } from 'viem'

export type SimAccount = { readonly nonce: number; readonly balanceWei: bigint }

/** The state of the chain after a block. Blocks without changes share it; it is immutable. */
export type State = {
  readonly accounts: ReadonlyMap<Address, SimAccount>
  /** By `storageKey`. */
  readonly storage: ReadonlyMap<string, Hex>
  readonly code: ReadonlyMap<Address, Hex>
}

/** A state being changed. It copies a table at the first write after a snapshot. */
export type Draft = {
  account(address: Address): SimAccount
  setAccount(address: Address, account: SimAccount): void
  storage(address: Address, slot: bigint): Hex
  setStorage(address: Address, slot: bigint, value: Hex): void
  code(address: Address): Hex | undefined
  setCode(address: Address, code: Hex): void
  /** Only the initial accounts are stored, because the balances of recipients do not matter here. */
  knows(address: Address): boolean
  snapshot(): State
}

const NOBODY: SimAccount = { nonce: 0, balanceWei: 0n }
export const ZERO_WORD: Hex = `0x${'0'.repeat(64)}`

export function storageKey(address: Address, slot: bigint): string {
  return `${address}:${slot.toString(16)}`
}

export function accountIn(state: State, address: Address): SimAccount {
  return state.accounts.get(address) ?? NOBODY
}

export function createDraft(base: State): Draft {
  let accounts = base.accounts
  let storage = base.storage
  let code = base.code
  let own = { accounts: false, storage: false, code: false }

  return {
    account: (address) => accounts.get(address) ?? NOBODY,
    knows: (address) => accounts.has(address),
    storage: (address, slot) => storage.get(storageKey(address, slot)) ?? ZERO_WORD,
    setAccount(address, account) {
      if (!own.accounts) accounts = new Map(accounts)
      own.accounts = true
      ;(accounts as Map<Address, SimAccount>).set(address, account)
    },
    setStorage(address, slot, value) {
      if (!own.storage) storage = new Map(storage)
      own.storage = true
      ;(storage as Map<string, Hex>).set(storageKey(address, slot), value)
    },
    code: (address) => code.get(address),
    setCode(address, value) {
      if (!own.code) code = new Map(code)
      own.code = true
      ;(code as Map<Address, Hex>).set(address, value)
    },
    snapshot() {
      own = { accounts: false, storage: false, code: false }
      return { accounts, storage, code }
    },
  }
}
