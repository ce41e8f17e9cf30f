import type { Hash } from 'viem'
import type { Tx } from '../../src/types/index.js'
import type { AskedItem } from './workload.js'

/** Observations of one item, through the sender's public API only. */
export type ItemRecord = {
  readonly asked: AskedItem
  /** The transaction id that the sender got. */
  readonly id: string
  sentAtMs: number
  acceptedAtMs: number | undefined
  preconfirmedAtMs: number | undefined
  sealedAtMs: number | undefined
  /** Reason for an end without a block, or for an unknown result. */
  error: unknown
  tx: Tx | undefined
  /** Attempts seen in events, newest last. */
  readonly attempts: { readonly nonce: number; readonly hash: Hash }[]
  rebroadcasts: number
}

export type StageCounts = {
  readonly sent: number
  readonly accepted: number
  readonly preconfirmed: number
  readonly sealed: number
  readonly failed: number
}

export function createRecord(asked: AskedItem): ItemRecord {
  return {
    asked,
    id: `item-${asked.item}`,
    sentAtMs: 0,
    acceptedAtMs: undefined,
    preconfirmedAtMs: undefined,
    sealedAtMs: undefined,
    error: undefined,
    tx: undefined,
    attempts: [],
    rebroadcasts: 0,
  }
}

/** Number of items that have reached each stage. */
export function countStages(records: readonly ItemRecord[]): StageCounts {
  const counts = { sent: 0, accepted: 0, preconfirmed: 0, sealed: 0, failed: 0 }
  for (const record of records) {
    if (record.sentAtMs > 0) counts.sent += 1
    if (record.acceptedAtMs !== undefined) counts.accepted += 1
    if (record.preconfirmedAtMs !== undefined) counts.preconfirmed += 1
    if (record.sealedAtMs !== undefined) counts.sealed += 1
    if (record.error !== undefined) counts.failed += 1
  }
  return counts
}
