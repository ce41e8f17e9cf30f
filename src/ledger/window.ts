/**
 * How many nonces may be uncovered at once. A node may drop more than 64 gapped transactions of an account
 * silently after it returned their hashes (geth `core/txpool/legacypool`), so it begins at 64, doubles each time a
 * whole window was covered without a loss, and halves on a drop or a full pool.
 */
export type Window = {
  readonly size: number
  /** What was handed out up to `cursor` is covered up to `coveredTo`. */
  progress(coveredTo: number, cursor: number): void
  /** A transaction was dropped, or the pool was full. Halves at most once for what is uncovered now. */
  loss(coveredTo: number, cursor: number): void
  /** A limit from outside: an account with delegated code may have 1 to 4 transactions in flight. */
  cap(limit: number | undefined): void
}

export function createWindow(options: { start: number; max: number }): Window {
  let size = options.start
  let limit: number | undefined
  // Where the present window ends: covered up to here without a loss, it doubles; after a loss it starts anew.
  let mark = 0

  return {
    get size() {
      return Math.max(1, Math.min(size, limit ?? size))
    },
    progress(coveredTo, cursor) {
      if (coveredTo < mark || coveredTo === 0) return
      // Only a window that was used says anything about what the node takes.
      if (mark > 0 && cursor - mark >= 0) size = Math.min(options.max, size * 2)
      mark = Math.max(coveredTo + 1, cursor)
    },
    loss(coveredTo, cursor) {
      if (coveredTo >= mark - size && mark > cursor) return
      size = Math.max(1, Math.floor(size / 2))
      mark = cursor + 1
    },
    cap(next) {
      limit = next
    },
  }
}
