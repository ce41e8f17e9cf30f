import type { Prepared } from './connection.js'

export type Pruner = {
  /**
   * Called within a write that stored `kept` transactions. Deletes some that ended long ago, with their
   * hashes.
   */
  after(prepared: Prepared, kept: number): void
}

// Rare enough to cost nothing, and frequent enough that no write deletes many.
const EVERY = 64

/**
 * Deletes twice as many transactions as were stored since the last time, so that the file cannot grow faster
 * than old transactions are deleted. The first write of a process starts with a deletion, so that short-lived
 * processes contribute too.
 */
export function createPruner(retentionMs: number): Pruner {
  let kept: number = EVERY
  return {
    after(prepared, count) {
      kept += count
      if (kept < EVERY || retentionMs === Number.POSITIVE_INFINITY) return
      const old = prepared.oldest.all(retentionMs, 2 * kept) as { key: number }[]
      kept = 0
      for (const { key } of old) {
        prepared.dropHashes.run(key)
        prepared.dropTx.run(key)
      }
    },
  }
}
