import type { Chain } from 'viem'
import { createSenderPoolIn, type SenderPool, type SenderPoolParameters } from './pool/pool.js'
import { systemEnvironment } from './systemEnvironment.js'

/**
 * Sends from several accounts of one chain. Each account has its own lane with its own nonces.
 *
 * - A request that names an `account` goes to that account. A known `id` returns the transaction that already has it,
 *   from any account of the pool, so that sending it again is safe. Any other transaction goes to the lane with the
 *   fewest transactions in flight among the lanes with room. Lanes under a hold are skipped as long as one lane has no
 *   hold.
 * - An account that runs out of money gets no new transactions. It finishes the transactions that have a nonce. The
 *   transactions that wait for a nonce move to an account that can pay, unless they are bound to their account: by
 *   name, by a sequence, or by `authorize`, `deploys` or `effect`. This also works between processes: if they share
 *   a store, each process reports the state of its lanes there, up to four times a second.
 * - `affinity` keeps transactions together: the same string goes to the same account in every process. A sequence goes
 *   to one account as a whole.
 * - `list` returns the transactions of all accounts in one order, including retired accounts. Its option `account`
 *   selects one account, also one that only an earlier process life of the pool had. `address` is the address of the
 *   first account. `snapshot` exists for each lane alone: use `senders`.
 * - Accounts can change while the pool runs: `add` and `retire` an account, or `pause` one alone.
 *
 * Not guaranteed: any order between transactions. If the order matters, name the predecessor with `after`, send a
 * sequence, or send from one account. If no account can pay, a transaction ends with `STARVED`; with `starved: 'wait'`
 * it waits until an account can pay or the caller cancels it.
 *
 * @throws TxlaneError `INVALID` or `UNSUPPORTED` at once, if the options cannot work
 * @example
 * const pool = createSenderPool({ client, accounts })
 * for await (const result of pool.sendMany(items, { until: 'sealed' })) console.log(result.index, result.ok)
 */
export function createSenderPool<chain extends Chain>(
  parameters: SenderPoolParameters<chain>,
): SenderPool<chain> {
  return createSenderPoolIn(
    systemEnvironment(),
    parameters as unknown as SenderPoolParameters<Chain>,
  ) as unknown as SenderPool<chain>
}
