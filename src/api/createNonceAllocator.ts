import {
  createNonceAllocatorIn,
  type NonceAllocator,
  type NonceAllocatorParameters,
} from './allocators/allocator.js'
import { systemEnvironment } from './systemEnvironment.js'

/**
 * Hands out nonces, each to one caller, for code that signs and sends by itself.
 *
 * The first reservation reads the chain, once for any number of concurrent callers. Later reservations come from the
 * lane's own records. Senders and allocators of the same account, chain and store in one process share one lane, also
 * across the ESM and the CommonJS build; the options of the first of them apply.
 *
 * Not guaranteed: that there are no gaps. An allocator has no key. If a reserved nonce is never used, the allocator
 * emits `gap`; the gap is filled only if this process also runs a sender of the same account. With `memoryStore` (the
 * default) no state survives the process: `snapshot().durable` of a contract's counter is false then. The payloads of a
 * contract's counter are stored and not sent: the caller brings them on chain.
 *
 * @throws TxlaneError `INVALID` at once, if the options cannot work; on the first use, if the counter of a contract is
 *   not at the slot that the source names
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
