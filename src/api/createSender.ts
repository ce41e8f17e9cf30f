import type { Account, Chain } from 'viem'
import type { Sender, SenderParameters } from '../types/index.js'
import { createSenderIn, type LooseParameters } from './sender/sender.js'
import { systemEnvironment } from './systemEnvironment.js'

/**
 * Sends transactions of one account on one chain so that each lands exactly once and no nonce is left empty.
 *
 * Nothing is asked of a node, and nothing of what lanes run on is loaded, before `ready`, `send` or another of its
 * methods is called: `ready` early keeps both from the first transaction. Senders and allocators of the same account,
 * chain and store in one process share one lane, with the options of the first one: a later one may leave them out, and
 * `ready` and sends reject with `INVALID` where it names another value.
 *
 * Not guaranteed: with `memoryStore` (the default) the promises hold within one process life. Another wallet with
 * the same key is found out and repaired, not prevented.
 *
 * @throws TxlaneError `INVALID` or `UNSUPPORTED` at once for options that cannot work
 * @example
 * const sender = createSender({ client })
 * const tx = await sender.send({ to, value: 1n })
 * await tx.wait('sealed')
 */
export function createSender<chain extends Chain, account extends Account | undefined>(
  parameters: SenderParameters<chain, account>,
): Sender<chain> {
  return createSenderIn(
    systemEnvironment(),
    parameters as unknown as LooseParameters,
  ) as unknown as Sender<chain>
}
