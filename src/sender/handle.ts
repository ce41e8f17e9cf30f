import type { Tx } from '../types.js'
import type { Emitter } from './emitter.js'
import type { Transaction } from './transaction.js'
import { createTxFace, type TxOperations } from './txFace.js'

/** What of a lane outlives whoever works it in this process: the objects that callers have, and who listens. */
export type LaneHandle = {
  readonly events: Emitter
  /** Transactions that have not ended, by id. */
  readonly transactions: Map<string, Transaction>
  /** The public face of a transaction: always the same object. */
  readonly txOf: (transaction: Transaction) => Tx
  /** Who answers callers now; set by whoever begins to work the lane, before anybody can ask. */
  operations: TxOperations | undefined
}

export function createHandle(events: Emitter): LaneHandle {
  const handle: LaneHandle = {
    events,
    transactions: new Map(),
    txOf: createTxFace(() => handle.operations as TxOperations),
    operations: undefined,
  }
  return handle
}
