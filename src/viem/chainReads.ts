import type { Hex } from 'viem'
import type { Block } from '../rpc/methods/decodeBlock.js'
import { readWith } from '../rpc/methods/fetchFns.js'
import type { GetBlockByNumberParameters } from '../rpc/methods/getBlockByNumber.js'
import type { BlockReceipt, GetBlockReceiptsParameters } from '../rpc/methods/getBlockReceipts.js'
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
import type { WaitForCodeParameters, WaitForStorageParameters } from '../rpc/methods/waitFor.js'
import type { WatchPendingParameters } from '../rpc/methods/watchPending.js'
import type { AnyClient } from '../rpc/transports/fromClient.js'

/** The reads, bound to a client. Each is exported as a plain function too, where it is described. */
export type ChainReads = {
  readonly reads: {
    getBlockByNumber<full extends boolean = false>(
      parameters: GetBlockByNumberParameters<full>,
    ): Promise<Block<full> | null>
    getBlockReceipts(parameters: GetBlockReceiptsParameters): Promise<readonly BlockReceipt[] | null>
    getStorageAt(parameters: GetStorageAtParameters): Promise<Hex>
    getTransactionCount(parameters: GetTransactionCountParameters): Promise<number>
    getCode(parameters: GetCodeParameters): Promise<Hex>
    readLane(parameters: ReadLaneParameters): Promise<LaneReading>
    watchPending(parameters: WatchPendingParameters): () => void
    waitForCode(parameters: WaitForCodeParameters): Promise<Hex>
    waitForStorage(parameters: WaitForStorageParameters): Promise<Hex>
  }
}

export type ChainReadsOptions = {
  /** The `fetch` for `http` transports: the one given to viem's `http` cannot be seen. @default the global one */
  readonly fetchFn?: typeof fetch | undefined
}

/**
 * Puts the reads on a viem client, under `reads`. They take the client's transport apart, and make their own
 * requests: viem's retries, batching and fallback are not used. What they do is loaded by the first of them, before its
 * time limits begin.
 * @example
 * const client = createPublicClient({ chain: base, transport: http() }).extend(chainReads())
 * const count = await client.reads.getTransactionCount({ address, block: 'pending' })
 */
export function chainReads(options: ChainReadsOptions = {}): (client: AnyClient) => ChainReads {
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
