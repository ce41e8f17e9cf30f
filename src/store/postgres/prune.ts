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
export function createPruner({ database, sql, retentionMs }: Context): Pruner {
  // The first write of a process prunes, because a process that is restarted often may never reach the next
  // time.
  let since = WRITES
  let running: Promise<void> | undefined

  async function prune(): Promise<void> {
    try {
      const [row] = await database.change({ text: sql.prune, values: [retentionMs, ROWS] })
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
