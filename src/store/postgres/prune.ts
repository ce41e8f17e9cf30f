import type { Context } from './context.js'

export type Pruner = {
  /** A write was made: now and then what ended long ago is deleted, behind it. */
  wrote(): void
  /** Resolves when no deletion is under way. */
  idle(): Promise<void>
}

// Writes carry a hundred transactions or so each: more is deleted at once than comes in between.
const WRITES = 16
const ROWS = 2_000

/**
 * Deletes by age, a bounded number of rows at a time, and never in the way of a write. What fails is done again
 * later: nothing depends on it.
 */
export function createPruner({ database, sql, retentionMs }: Context): Pruner {
  // The first write of a process prunes: one that is restarted often may never come to the next.
  let since = WRITES
  let running: Promise<void> | undefined

  async function prune(): Promise<void> {
    try {
      const [row] = await database.change({ text: sql.prune, values: [retentionMs, ROWS] })
      // There may be more of it: the next write goes on.
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
