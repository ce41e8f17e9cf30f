import type { Chain, Hex } from 'viem'
import { readWith } from '../rpc/methods/fetchFns.js'
import type { Block, GetBlockByNumberParameters } from '../rpc/methods/getBlockByNumber.js'
import type { BlockReceipt, GetBlockReceiptsParameters } from '../rpc/methods/getBlockReceipts.js'
import type {
  WaitForCodeParameters,
  WaitForStorageParameters,
  WatchPendingParameters,
} from '../rpc/methods/polls.js'
import {
  getBlockByNumber,
  getBlockReceipts,
  getCode,
  getStorageAt,
  getTransactionCount,
  readLane,
  waitForCode,
  waitForStorage,
  watchPending,
} from '../rpc/methods/public.js'
import type { LaneReading, ReadLaneParameters } from '../rpc/methods/readLane.js'
import type {
  GetCodeParameters,
  GetStorageAtParameters,
  GetTransactionCountParameters,
} from '../rpc/methods/state.js'
import type { AnyClient } from '../rpc/transports/fromClient.js'

/** The reads, bound to a client. Each is also exported, and documented, as a plain function. */
export type ChainReads<chain extends Chain | undefined = undefined> = {
  readonly reads: {
    getBlockByNumber<full extends boolean = false>(
      parameters: GetBlockByNumberParameters<full>,
    ): Promise<Block<full, chain> | null>
    getBlockReceipts(parameters: GetBlockReceiptsParameters): Promise<readonly BlockReceipt<chain>[] | null>
    getStorageAt(parameters: GetStorageAtParameters): Promise<Hex>
    getTransactionCount(parameters: GetTransactionCountParameters): Promise<number>
    getCode(parameters: GetCodeParameters): Promise<Hex>
    readLane(parameters: ReadLaneParameters): Promise<LaneReading>
    watchPending(parameters: WatchPendingParameters<chain>): () => void
    waitForCode(parameters: WaitForCodeParameters): Promise<Hex>
    waitForStorage(parameters: WaitForStorageParameters): Promise<Hex>
  }
}

export type ChainReadsOptions = {
  /**
   * The `fetch` for `http` transports, because the function given to viem's `http` is not visible.
   * @default the global one
   */
  readonly fetchFn?: typeof fetch | undefined
}

/**
 * Adds the reads to a viem client, under `reads`. They convert the client's transport to ports and make their
 * own requests: viem's retries, batching and fallback are not used. Their implementation is loaded by the
 * first read, before its timeouts start.
 *
 * @example
 * const client = createPublicClient({ chain: base, transport: http() }).extend(chainReads())
 * const count = await client.reads.getTransactionCount({ address, block: 'pending' })
 */
export function chainReads(
  options: ChainReadsOptions = {},
): <chain extends Chain | undefined = undefined>(client: AnyClient<chain>) => ChainReads<chain> {
  return (client) => {
    if (options.fetchFn) readWith(client, options.fetchFn)
    return {
      reads: {
        getBlockByNumber: (parameters) => getBlockByNumber(client, parameters),
        getBlockReceipts: (parameters) => getBlockReceipts(client, parameters),
        getStorageAt: (parameters) => getStorageAt(client, parameters),
        getTransactionCount: (parameters) => getTransactionCount(client, parameters),
        getCode: (parameters) => getCode(client, parameters),
        readLane: (parameters) => readLane(client, parameters),
        watchPending: (parameters) => watchPending(client, parameters),
        waitForCode: (parameters) => waitForCode(client, parameters),
        waitForStorage: (parameters) => waitForStorage(client, parameters),
      },
    }
  }
}
