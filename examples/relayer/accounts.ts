import type { FastifyBaseLogger } from 'fastify'
import type { SenderPool } from 'txlane'
import type { LocalAccount } from 'viem'
import { lower } from './config.js'

/**
 * Makes the pool have these accounts. A new one takes part at once. One that is gone takes nothing new; what it has begun
 * is finished, what waits there goes to the others, and what money is left goes to the treasury, where there is one. Each
 * process has to be given the same accounts.
 */
export function changeAccounts(
  pool: SenderPool,
  accounts: readonly LocalAccount[],
  log: FastifyBaseLogger,
): void {
  const wanted = new Set(accounts.map(({ address }) => lower(address)))
  const present = new Set(pool.senders.map(({ address }) => lower(address)))
  for (const account of accounts) {
    const { address } = account
    if (present.has(lower(address))) continue
    pool
      .add(account)
      .ready()
      .then(() => log.info({ address }, 'account added'))
      .catch((err) => log.error({ err, address }, 'the account that was added is not ready'))
  }
  const sweepTo = pool.treasury?.address
  for (const { address } of pool.senders) {
    if (wanted.has(lower(address))) continue
    pool
      .retire(address, sweepTo === undefined ? {} : { sweepTo })
      .then(() => log.info({ address }, 'account retired'))
      // Of several processes one sweeps, and the others are refused.
      .catch((err) => log.warn({ err, address }, 'the account is retired, but not swept by this process'))
  }
}
