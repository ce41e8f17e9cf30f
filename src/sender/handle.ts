import type { Clock } from '../clock.js'
import { onAbort } from '../onAbort.js'
import type { LaneKey } from '../store/store.js'
import type { Tx } from '../types.js'
import { closedLaneError } from './drains.js'
import type { Emitter } from './emitter.js'
import type { Hub } from './hub.js'
import { createReceipts } from './receipts.js'
import { hasFailed, type Transaction } from './transaction.js'
import { createTxFace, type TxOperations } from './txFace.js'
import { createStop, type Stop } from './unlessStopped.js'
import { createWaiting, type Waiting } from './waiting.js'

/**
 * What of a lane outlives whoever works it: the objects that callers of this process have, who waits for them, and who
 * listens.
 */
export type LaneHandle = {
  readonly key: LaneKey
  readonly events: Emitter
  /** Transactions that have not ended, by id. Elsewhere than with the holder: those that somebody here asked for. */
  readonly transactions: Map<string, Transaction>
  /** The public face of a transaction: always the same object. */
  readonly txOf: (transaction: Transaction) => Tx
  readonly waiting: Waiting
  /** Promises that somebody waits for: the poller looks closely while there are any. */
  readonly waits: number
  /** Somebody waits for as long as the work takes. */
  readonly counted: <T>(work: () => Promise<T>) => Promise<T>
  /** From now on the caller's signal is heeded, until the transaction has its verdict. */
  heed(transaction: Transaction, signal: AbortSignal | undefined): void
  /** After it nobody of this process works the lane, or waits for it. */
  readonly closing: Stop & { stop(): void }
  /** Nothing is to be reserved here. */
  paused: boolean
  /** Who answers callers now; set by whoever begins to work the lane, before anybody can ask. */
  operations: TxOperations | undefined
}

export function createHandle(options: {
  readonly key: LaneKey
  readonly events: Emitter
  readonly hub: Hub
  readonly clock: Clock
  readonly readTimeoutMs: number
}): LaneHandle {
  const { key, events, hub, clock } = options
  const closing = createStop(closedLaneError)
  const receipts = createReceipts(hub, options.readTimeoutMs)
  const operations = () => handle.operations as TxOperations
  const { chain } = hub
  const waiting = () => handle.waiting
  const txOf = createTxFace({ chain, address: key.address, closing, operations, waiting })
  let waits = 0

  async function counted<T>(work: () => Promise<T>): Promise<T> {
    // With others waiting the poller looks closely already.
    if (waits++ === 0) hub.tracker.wake()
    try {
      return await work()
    } finally {
      waits--
    }
  }

  const reverted = (transaction: Transaction) => events.emit('reverted', { tx: txOf(transaction) })
  const handle: LaneHandle = {
    key,
    events,
    transactions: new Map(),
    txOf,
    waiting: createWaiting({ hub, clock, receipts, closing, counted, reverted }),
    get waits() {
      return waits
    },
    counted,
    heed(transaction, signal) {
      if (signal === undefined || hasFailed(transaction)) return
      const abort = () => operations().abort(transaction)
      if (signal.aborted) return abort()
      transaction.unheed = onAbort(signal, abort)
    },
    closing,
    paused: false,
    operations: undefined,
  }
  return handle
}
