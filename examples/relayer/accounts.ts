import type { FastifyBaseLogger } from 'fastify'
import type { SenderPool } from 'txlane'
import type { Address, LocalAccount } from 'viem'

/** The accounts that send, and those that finish what they began. */
export type Accounts = { readonly active: readonly LocalAccount[]; readonly retired: readonly LocalAccount[] }

/**
 * Makes a pool, which has all of `first`, have the accounts that it is given from then on. A new one takes part at once. One
 * that is retired, or is not named any more, takes nothing new; what it has begun is finished, what waits there goes to the
 * others, and what money is left goes to the treasury, where there is one. Each process has to be given the same accounts.
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
      .catch((err) => log.error({ err, address }, 'the account that was added is not ready'))
  }

  function retire(address: Address): void {
    taking.delete(address)
    retired.add(address)
    const sweepTo = pool.treasury?.address
    pool
      .retire(address, sweepTo === undefined ? {} : { sweepTo })
      .then(() => log.info({ address }, 'account retired'))
      // Of several processes one sweeps, and the others are refused.
      .catch((err) =>
        log.warn({ err, address }, 'the account takes nothing new, and is not swept by this process'),
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
