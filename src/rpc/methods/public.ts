import type { Chain, Hex } from 'viem'
import { systemClock } from '../../platform/clock.js'
import { createLoader, whenLoaded } from '../../platform/lazy.js'
import { checkMs } from './arguments.js'
import type { Block, GetBlockByNumberParameters } from './getBlockByNumber.js'
import type { BlockReceipt, GetBlockReceiptsParameters } from './getBlockReceipts.js'
import type { WaitForCodeParameters, WaitForStorageParameters, WatchPendingParameters } from './polls.js'
import type { LaneReading, ReadLaneParameters } from './readLane.js'
import type { ReadSource } from './source.js'
import type { GetCodeParameters, GetStorageAtParameters, GetTransactionCountParameters } from './state.js'

// The public reads. The first call loads their implementation: most users of the root export only send, and
// read nothing themselves.
const loadReads = createLoader('The code that reads', () => import('./reads.js'))

/**
 * A block, or `null` if the node finds none.
 *
 * The block has the types of viem, with the formatter of the client's chain: deposits of the OP stack, for
 * example. A port has no chain, so its blocks have viem's own types. Fields without a type are left as the node
 * returned them. `timestampMs` is shown by Base (since its upgrade Denim, November 2026).
 *
 * A `pending` block is a snapshot: two consecutive reads may differ, and behind a load balancer the second
 * may be the older one. It may lack its number, its hash and other fields, as real nodes do.
 *
 * @throws `INVALID` for an invalid selector, before any request; a typed error that names the method for a
 *   failed call or an answer that cannot be decoded
 *
 * @example
 * const block = await getBlockByNumber(client, { block: 'pending' })
 */
export function getBlockByNumber<full extends boolean = false, chain extends Chain | undefined = undefined>(
  source: ReadSource<chain>,
  parameters: GetBlockByNumberParameters<full>,
): Promise<Block<full, chain> | null> {
  return read((reads) => reads.getBlockByNumber(source, parameters))
}

/**
 * The receipts of a block, or `null` if the node finds no such block.
 *
 * They have the types of viem, with the formatter of the client's chain (`l1Fee` on the OP stack). Fields
 * without a type are left as the node returned them.
 *
 * Many public endpoints refuse this method. An endpoint that refused it is not asked again.
 *
 * @throws `INVALID` for an invalid selector, before any request; `UNSUPPORTED` (with `status` or `rpcCode`)
 *   if the endpoint does not support the method; otherwise a typed error that names the method
 */
export function getBlockReceipts<chain extends Chain | undefined = undefined>(
  source: ReadSource<chain>,
  parameters: GetBlockReceiptsParameters,
): Promise<readonly BlockReceipt<chain>[] | null> {
  return read((reads) => reads.getBlockReceipts(source, parameters))
}

/**
 * The 32 bytes at a storage slot.
 *
 * Not every node shows pending storage: on some, `pending` equals `latest`. If the endpoint profile says so
 * (`pendingState`), the slot is read by `eth_call` at `pending`, with code of ours in place of the contract's.
 *
 * @throws `INVALID` for a bad argument, before any request; otherwise a typed error that names the method
 */
export function getStorageAt(source: ReadSource, parameters: GetStorageAtParameters): Promise<Hex> {
  return read((reads) => reads.getStorageAt(source, parameters))
}

/**
 * The number of transactions sent from an address, which is the nonce of its next one.
 *
 * The meaning of the `pending` count differs by node: it includes the mempool, or only pre-confirmed
 * transactions, or nothing beyond `latest` (see the endpoint profile). So the answer may be a nonce that a
 * transaction in flight already uses.
 *
 * @throws `INVALID` for a bad argument, before any request; otherwise a typed error that names the method
 */
export function getTransactionCount(
  source: ReadSource,
  parameters: GetTransactionCountParameters,
): Promise<number> {
  return read((reads) => reads.getTransactionCount(source, parameters))
}

/**
 * The bytecode at an address: `0x` if there is none, `0xef0100` and 20 bytes for a delegated account
 * (EIP-7702).
 *
 * Not every node shows pending code: on some, `pending` equals `latest`. If the endpoint profile says so
 * (`pendingState`), the code is read by `eth_call` at `pending`.
 *
 * @throws `INVALID` for a bad argument, before any request; otherwise a typed error that names the method
 */
export function getCode(source: ReadSource, parameters: GetCodeParameters): Promise<Hex> {
  return read((reads) => reads.getCode(source, parameters))
}

/**
 * An account at `latest` and at `pending`, read in one JSON-RPC batch from one endpoint.
 *
 * A batch is not atomic. The pending header is read first and last. If the two differ, or are below `latest`,
 * the reading is repeated, at most twice, and then returned without its pending part. A reading that passes
 * this check is still not proven: a load balancer may send each call of a batch to another node.
 *
 * @throws `INVALID` for a bad argument, before any request; `CHAIN_MISMATCH` if the endpoint is not on the
 *   chain of `chainId`; otherwise a typed error that names the method
 */
export function readLane(source: ReadSource, parameters: ReadLaneParameters): Promise<LaneReading> {
  return read((reads) => reads.readLane(source, parameters))
}

/**
 * Resolves with the code at an address as soon as there is any at `pending`, before the block is sealed.
 *
 * Pre-confirmed code can still vanish. The code is also read by `eth_call`, until the endpoint profile says
 * whether a plain read shows pending code. If neither shows it, it is seen when the block is sealed. Failed
 * polls are repeated until the timeout.
 *
 * @throws `INVALID`; `WAIT_TIMEOUT` (its cause is the last failed poll); `ABORTED`
 */
export function waitForCode(source: ReadSource, parameters: WaitForCodeParameters): Promise<Hex> {
  return read((reads) => reads.waitForCode(source, parameters))
}

/**
 * Resolves with the value of a storage slot as soon as it is the requested one at `pending`, before the block
 * is sealed.
 *
 * Pre-confirmed storage can still change back. The slot is also read by `eth_call`, until the endpoint profile
 * says whether a plain read shows pending storage. Base's flashblocks RPC shows it to a `getter` of the contract
 * alone. If nothing shows it, it is seen when the block is sealed. Failed polls are repeated until the timeout.
 *
 * @throws `INVALID`; `WAIT_TIMEOUT` (its cause is the last failed poll); `ABORTED`; any error of `value`
 */
export function waitForStorage(source: ReadSource, parameters: WaitForStorageParameters): Promise<Hex> {
  return read((reads) => reads.waitForStorage(source, parameters))
}

/**
 * Polls the pending block and reports its changes, one poll at a time. No callback runs after it was stopped.
 *
 * Not guaranteed: that every state of the block is seen, or that the states come in order (a load balancer
 * may show an older one). For an endpoint without a pending block no callback runs.
 *
 * @returns a function that stops the polling
 * @throws `INVALID` for an `intervalMs` that is not a positive number
 * @example
 * const stop = watchPending(client, { onBlock: (block) => console.log(block.transactions.length) })
 */
export function watchPending<chain extends Chain | undefined = undefined>(
  source: ReadSource<chain>,
  parameters: WatchPendingParameters<chain>,
): () => void {
  return watchWhenLoaded(loadReads, source, parameters)
}

function read<T>(use: (reads: Reads) => Promise<T>): Promise<T> {
  return whenLoaded(loadReads(), use)
}

type Reads = typeof import('./reads.js')

/** `watchPending` with code that may have to be loaded first. A failure to load counts as a failed poll. */
export function watchWhenLoaded<chain extends Chain | undefined>(
  load: () => Reads | Promise<Reads>,
  source: ReadSource<chain>,
  parameters: WatchPendingParameters<chain>,
): () => void {
  const { intervalMs = 200, signal, onError, clock = systemClock } = parameters
  checkMs(intervalMs, 'intervalMs')
  let stopped = false
  let stop = () => {}

  const over = () => stopped || signal?.aborted === true

  async function begin(): Promise<void> {
    if (over()) return
    try {
      await whenLoaded(load(), async ({ watchPending }) => {
        if (!over()) stop = watchPending(source, parameters)
      })
    } catch (error) {
      if (over()) return
      stop = clock.setTimer(() => void begin(), intervalMs)
      onError?.(error)
    }
  }

  void begin()
  return () => {
    stopped = true
    stop()
  }
}
