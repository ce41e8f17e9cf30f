import type { Chain } from 'viem'
import { createSenderPoolIn, type SenderPool, type SenderPoolParameters } from './pool/pool.js'
import { systemEnvironment } from './systemEnvironment.js'

/**
 * Sends from several accounts of one chain: as many lanes, each with its own nonces.
 *
 * - A request that names an `account` goes to that one. An `id` that is known is the transaction that it was before,
 *   whatever account sent it, so that sending it again is safe. Everything else goes to the lane with the least under
 *   way that has room; lanes under a hold are passed over as long as one is not: a key that runs out of money gets
 *   nothing new, what has a nonce there is finished, and what waits for one goes to an account that can pay, unless it
 *   is bound to its own: by name, in a sequence, with `authorize`, `deploys` or `effect`. That holds whichever process
 *   has the lane: with a store that processes share, each says there how its lanes are, four times a second.
 * - `affinity` keeps transactions together: the same word goes to the same account, in every process. A sequence goes
 *   to one account as a whole.
 * - `list` has the transactions of all its accounts in one order, those of retired ones too; `account` names one, also
 *   one that an earlier life of the pool had. `address` is the first account's. `snapshot` is each lane's own: see
 *   `senders`.
 * - Accounts come and go while it runs: `add`, `retire`, and `pause` of one alone.
 *
 * Not guaranteed: any order between transactions. Who needs one names it with `after`, sends a sequence, or sends from
 * one account. Where no account can pay, a transaction ends with STARVED; with `starved: 'wait'` it waits, until it is
 * cancelled or one can.
 *
 * @throws TxlaneError `INVALID` or `UNSUPPORTED` at once for options that cannot work
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
