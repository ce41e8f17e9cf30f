import type { Account, Chain } from 'viem'
import type { Sender, SenderParameters } from '../types/index.js'
import { createSenderIn, type LooseParameters } from './sender/sender.js'
import { systemEnvironment } from './systemEnvironment.js'

/**
 * Sends transactions of one account on one chain so that each lands exactly once and no nonce is left empty.
 *
 * This call itself sends no request to a node and loads no lane code. The first call of `ready`, `send` or another
 * method does both; call `ready` early to keep that delay from the first transaction.
 *
 * Senders and allocators of the same account, chain and store in one process share one lane, with the options of the
 * first of them. A later sender may leave these options out; if it gives a different value, `ready` and sends reject
 * with `INVALID`.
 *
 * Not guaranteed: with `memoryStore` (the default) the guarantees end with the process. The lane cannot prevent another
 * wallet from using the same key; it detects and repairs the consequences.
 *
 * @throws TxlaneError `INVALID` or `UNSUPPORTED` at once, if the options cannot work
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
