import type { Context } from './context.js'

export type Pruner = {
  /**
   * Called after a write. From time to time transactions that ended long ago are deleted in the background.
   */
  wrote(): void
  /** Resolves when no deletion is running. */
  idle(): Promise<void>
}

// A write carries about a hundred transactions, so more rows are deleted at once than are added in between.
const WRITES = 16
const ROWS = 2_000

/**
 * Deletes transactions by age, a limited number of rows at a time, without blocking writes. A failed deletion
 * is repeated later; nothing depends on it.
 */
export function createPruner({ database, schema, retentionMs }: Context): Pruner {
  // Deletes a limited number of transactions that ended long ago, with their hashes. Rows that another
  // process is deleting are skipped.
  const text = `
    WITH old AS (
      SELECT t.chain, t.id FROM ${schema}.transactions t
      WHERE t.ended_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
      ORDER BY t.ended_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ),
    forgotten AS (
      DELETE FROM ${schema}.transactions t USING old WHERE t.chain = old.chain AND t.id = old.id
      RETURNING t.chain, t.id
    ),
    hashes_gone AS (
      DELETE FROM ${schema}.hashes h USING forgotten f WHERE h.chain = f.chain AND h.id = f.id
    )
    SELECT count(*) AS count FROM forgotten`
  // The first write of a process prunes, because a process that is restarted often may never reach the next
  // time.
  let since = WRITES
  let running: Promise<void> | undefined

  async function prune(): Promise<void> {
    try {
      const [row] = await database.change({ text, values: [retentionMs, ROWS] })
      // There may be more rows: the next write continues.
      if (Number(row?.count) === ROWS) since = WRITES
    } catch {
      since = 0
    }
    running = undefined
  }

  return {
    wrote() {
      since++
      if (since <= WRITES || running !== undefined) return
      since = 0
      running = prune()
    },
    idle: () => running ?? Promise.resolve(),
  }
}
