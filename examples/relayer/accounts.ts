import type { FastifyBaseLogger } from 'fastify'
import type { SenderPool } from 'txlane'
import type { Address, LocalAccount } from 'viem'

/** The active accounts, and retired ones that only finish their transactions. */
export type Accounts = { readonly active: readonly LocalAccount[]; readonly retired: readonly LocalAccount[] }

/**
 * Returns a function that changes the accounts of a pool, which starts with all of `first`. A new account
 * takes part at once. A retired or removed account accepts no new transaction: its open transactions are
 * finished, its queued ones move to the other accounts, and its remaining balance goes to the treasury, if
 * one is configured. Every process needs the same accounts.
 */
export function createAccounts(
  pool: SenderPool,
  first: Accounts,
  log: FastifyBaseLogger,
): (accounts: Accounts) => void {
  const taking = new Set([...first.active, ...first.retired].map(({ address }) => address))
  const retired = new Set<Address>()

  function add(account: LocalAccount): void {
    const { address } = account
    taking.add(address)
    retired.delete(address)
    pool
      .add(account)
      .ready()
      .then(() => log.info({ address }, 'account added'))
      .catch((err) => log.error({ err, address }, 'the added account is not ready'))
  }

  function retire(address: Address): void {
    taking.delete(address)
    retired.add(address)
    const sweepTo = pool.treasury?.address
    pool
      .retire(address, sweepTo === undefined ? {} : { sweepTo })
      .then(() => log.info({ address }, 'account retired'))
      // Only one of several processes sweeps; the others are refused.
      .catch((err) =>
        log.warn({ err, address }, 'the account is retired, but this process does not sweep it'),
      )
  }

  function change(accounts: Accounts): void {
    for (const account of accounts.active) if (!taking.has(account.address)) add(account)
    for (const account of accounts.retired)
      if (!taking.has(account.address) && !retired.has(account.address)) add(account)
    const active = new Set(accounts.active.map(({ address }) => address))
    for (const address of taking) if (!active.has(address)) retire(address)
  }

  change(first)
  return change
}
