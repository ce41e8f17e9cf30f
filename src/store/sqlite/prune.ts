import type { Prepared } from './connection.js'

export type Pruner = {
  /** Within a write that kept so many transactions: forgets some of those that ended long ago, with their hashes. */
  after(prepared: Prepared, kept: number): void
}

// Seldom enough to cost nothing, and often enough that no write forgets many.
const EVERY = 64

/**
 * Forgets twice as many as were kept since the last time: the file cannot grow faster than its past is let go of.
 * The first write of a process begins with it, so that a short life does its share.
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
