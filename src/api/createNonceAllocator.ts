import {
  createNonceAllocatorIn,
  type NonceAllocator,
  type NonceAllocatorParameters,
} from './allocators/allocator.js'
import { systemEnvironment } from './systemEnvironment.js'

/**
 * Hands out nonces, each to one caller, to code that signs and sends by itself.
 *
 * The first reservation reads the chain, once however many ask at the same time; after that the lane's own books are
 * the allocator. Senders and allocators of the same account, chain and store in one process share one lane, across
 * the ESM and the CommonJS build; the options of the first one apply to it.
 *
 * Not guaranteed: that there are no gaps. An allocator has no key: a nonce that is handed out and never used is told
 * as `gap`, and filled only where a sender of the same account is at work in this process. With `memoryStore` (the
 * default) nothing survives the process. With nonces that a contract holds nothing does, whatever the store, and no
 * lease keeps another process from handing out the same: `snapshot().durable` says so.
 *
 * @throws TxlaneError `INVALID` at once for options that cannot work; on the first use, where a contract's counter is
 *   not where the source says
 * @example
 * const allocator = createNonceAllocator({ client, address: account.address })
 * const reservation = await allocator.reserve()
 * const serializedTransaction = await account.signTransaction({ ...request, nonce: reservation.nonce })
 * await reservation.commit({ serializedTransaction })
 * await client.sendRawTransaction({ serializedTransaction }).then(
 *   () => reservation.settle(),
 *   (error) => reservation.settle(error),
 * )
 */
export function createNonceAllocator<nonce extends number | bigint = number>(
  parameters: NonceAllocatorParameters<nonce>,
): NonceAllocator<nonce> {
  return createNonceAllocatorIn(systemEnvironment(), parameters)
}
