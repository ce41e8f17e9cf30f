import type { Hex } from 'viem'
import { createLoader, whenLoaded } from '../../platform/lazy.js'
import type { Block } from './decodeBlock.js'
import type { GetBlockByNumberParameters } from './getBlockByNumber.js'
import type { BlockReceipt, GetBlockReceiptsParameters } from './getBlockReceipts.js'
import type { LaneReading, ReadLaneParameters } from './readLane.js'
import type { ReadSource } from './source.js'
import type { GetCodeParameters, GetStorageAtParameters, GetTransactionCountParameters } from './state.js'
import type { WaitForCodeParameters, WaitForStorageParameters } from './waitFor.js'
import type { WatchPendingParameters } from './watchPending.js'
import { type Reads, watchWhenLoaded } from './watchWhenLoaded.js'

// The reads as they are called from outside. The first of them loads what they do: most who import the root send, and
// read nothing themselves.
const loadReads = createLoader('The code that reads', () => import('./reads.js'))

/**
 * A block, or `null` where the node finds none.
 *
 * A `pending` block is a moment's view: two reads in a row may differ, and behind a load balancer the second may be
 * the older one.
 * @throws `INVALID` for a selector that is not one, before anything is sent; a typed error that names the method
 *   for a failed call or an answer that cannot be decoded.
 * @example
 * const block = await getBlockByNumber(client, { block: 'pending' })
 */
export function getBlockByNumber<full extends boolean = false>(
  source: ReadSource,
  parameters: GetBlockByNumberParameters<full>,
): Promise<Block<full> | null> {
  return read((reads) => reads.getBlockByNumber(source, parameters))
}

/**
 * The receipts of a block, or `null` where the node finds no such block.
 *
 * Many public endpoints refuse this method: an endpoint that did is not asked again.
 * @throws `INVALID` for a selector that is not one, before anything is sent; `UNSUPPORTED` (with `status` or
 *   `rpcCode`) where the endpoint does not offer the method; a typed error that names the method otherwise.
 */
export function getBlockReceipts(
  source: ReadSource,
  parameters: GetBlockReceiptsParameters,
): Promise<readonly BlockReceipt[] | null> {
  return read((reads) => reads.getBlockReceipts(source, parameters))
}

/**
 * The 32 bytes at a storage slot.
 *
 * Not every node overlays storage at `pending`: there it equals `latest` (see the endpoint profile).
 * @throws `INVALID` for a bad argument, before anything is sent; a typed error that names the method otherwise.
 */
export function getStorageAt(source: ReadSource, parameters: GetStorageAtParameters): Promise<Hex> {
  return read((reads) => reads.getStorageAt(source, parameters))
}

/**
 * The number of transactions sent from an address: the nonce of its next one.
 *
 * What `pending` counts differs by node: the mempool too, pre-confirmed transactions only, or no more than `latest`
 * (see the endpoint profile). So the answer may be a nonce that is already used by a transaction on its way.
 * @throws `INVALID` for a bad argument, before anything is sent; a typed error that names the method otherwise.
 */
export function getTransactionCount(
  source: ReadSource,
  parameters: GetTransactionCountParameters,
): Promise<number> {
  return read((reads) => reads.getTransactionCount(source, parameters))
}

/**
 * The bytecode at an address: `0x` where there is none, `0xef0100` and 20 bytes for a delegated account (EIP-7702).
 *
 * Not every node overlays code at `pending`: there it equals `latest` (see the endpoint profile).
 * @throws `INVALID` for a bad argument, before anything is sent; a typed error that names the method otherwise.
 */
export function getCode(source: ReadSource, parameters: GetCodeParameters): Promise<Hex> {
  return read((reads) => reads.getCode(source, parameters))
}

/**
 * An account at `latest` and at `pending`, read in one JSON-RPC batch from one endpoint.
 *
 * A batch is not atomic. The pending header is read first and last: where the two differ, or lie below `latest`,
 * the reading is repeated, twice at most, and then returned without its pending part. A reading that was not
 * refuted is not proven: a load balancer may answer each call of a batch from another node.
 * @throws `INVALID` for a bad argument, before anything is sent; `CHAIN_MISMATCH` where the endpoint is not on the
 *   chain of `chainId`; a typed error that names the method otherwise.
 */
export function readLane(source: ReadSource, parameters: ReadLaneParameters): Promise<LaneReading> {
  return read((reads) => reads.readLane(source, parameters))
}

/**
 * Resolves with the code at an address as soon as there is any: at `pending`, before the block is sealed.
 *
 * Pre-confirmed code can still vanish; and where an endpoint does not overlay code at `pending`, it is seen when
 * the block is sealed. Polls that fail are repeated until the time is up.
 * @throws `INVALID`; `WAIT_TIMEOUT` (the last failed poll is its cause); `ABORTED`
 */
export function waitForCode(source: ReadSource, parameters: WaitForCodeParameters): Promise<Hex> {
  return read((reads) => reads.waitForCode(source, parameters))
}

/**
 * Resolves with the value of a storage slot as soon as it is the one asked for: at `pending`, before the block is
 * sealed.
 *
 * Pre-confirmed storage can still change back; and where an endpoint does not overlay storage at `pending`, it is
 * seen when the block is sealed. Polls that fail are repeated until the time is up.
 * @throws `INVALID`; `WAIT_TIMEOUT` (the last failed poll is its cause); `ABORTED`; what `value` throws
 */
export function waitForStorage(source: ReadSource, parameters: WaitForStorageParameters): Promise<Hex> {
  return read((reads) => reads.waitForStorage(source, parameters))
}

/**
 * Polls the pending block and tells of its changes, one poll at a time. Nothing is told after it was stopped.
 *
 * Not guaranteed: that every state of the block is seen, or that they come in order (a load balancer may show an
 * older one). An endpoint without a pending block tells nothing.
 * @returns what stops it
 * @throws `INVALID` for an `intervalMs` that is not a positive number
 * @example
 * const stop = watchPending(client, { onBlock: (block) => console.log(block.transactions.length) })
 */
export function watchPending(source: ReadSource, parameters: WatchPendingParameters): () => void {
  return watchWhenLoaded(loadReads, source, parameters)
}

function read<T>(use: (reads: Reads) => Promise<T>): Promise<T> {
  return whenLoaded(loadReads(), use)
}
