import type { FastifyBaseLogger } from 'fastify'
import type { SenderPool } from 'txlane'
import { isAddressEqual, type LocalAccount } from 'viem'

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
  const present = pool.senders.map(({ address }) => address)
  for (const account of accounts) {
    const { address } = account
    if (present.some((one) => isAddressEqual(one, address))) continue
    pool
      .add(account)
      .ready()
      .then(() => log.info({ address }, 'account added'))
      .catch((err) => log.error({ err, address }, 'the account that was added is not ready'))
  }
  const sweepTo = pool.treasury?.address
  for (const address of present) {
    if (accounts.some((one) => isAddressEqual(one.address, address))) continue
    pool
      .retire(address, sweepTo === undefined ? {} : { sweepTo })
      .then(() => log.info({ address }, 'account retired'))
      // Of several processes one sweeps, and the others are refused.
      .catch((err) => log.warn({ err, address }, 'the account is retired, but not swept by this process'))
  }
}
