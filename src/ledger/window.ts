/**
 * How many nonces may be uncovered at once. A node may drop more than 64 gapped transactions of an account
 * silently after it returned their hashes (geth `core/txpool/legacypool`), so it begins at 64, grows by what is covered
 * of a full one, so that it has doubled when all of that was covered without a loss, and halves on a drop or a full pool.
 */
export type Window = {
  readonly size: number
  /** There is a limit from outside: it counts what no sealed block holds yet. */
  readonly capped: boolean
  /**
   * Called whenever `coveredTo` has moved: what was handed out up to `cursor` is covered up to `coveredTo`. True where
   * that is further than it was known to be.
   */
  progress(coveredTo: number, cursor: number): boolean
  /** A transaction was dropped, or the pool was full. Halves at most once for what is uncovered now. */
  loss(coveredTo: number, cursor: number): void
  /** A limit from outside: an account with delegated code may have 1 to 4 transactions in flight. */
  cap(limit: number | undefined): void
  /**
   * How many nonces from the account's on the node takes at once, as far as it was learnt: the pool keeps no more
   * (geth with few slots drops the rest without a word), or its rules allow no more (zkSync Era). Infinite until then.
   */
  readonly aheadMax: number
  /** The node took so many, and dropped or refused what was above. It counts until more is shown, or tried. */
  takes(ahead: number): void
  /** The node holds so many at once: a lower limit was wrong. */
  holds(ahead: number): void
  /** A sealed block came. After some, a limit that was learnt is tried half as much higher. */
  sealed(): void
}

/** Sealed blocks until a learnt limit is tried again: twice as many after each trial in vain. */
const TRIAL_BLOCKS = 4
const TRIAL_BLOCKS_MAX = 64

export function createWindow(options: { start: number; max: number }): Window {
  let size = Math.min(options.start, options.max)
  let limit: number | undefined
  // Where coverage stood when it was last told; what was handed out since then was in flight beyond it.
  let covered: number | undefined
  // End of a window that was full: with each nonce of it that is covered the node shows that it takes one more.
  let fullTo = Number.NEGATIVE_INFINITY
  // How far it has shown so. What a reorg uncovers, and is covered again, shows nothing new.
  let shownTo = Number.NEGATIVE_INFINITY
  // End of what was in flight at the last loss: it tells of one loss only, and of no success.
  let lossTo = Number.NEGATIVE_INFINITY

  let aheadMax = Number.POSITIVE_INFINITY
  let trialBlocks = TRIAL_BLOCKS
  let blocksLeft = TRIAL_BLOCKS

  const effective = (): number => Math.max(1, Math.min(size, limit ?? size, aheadMax))

  /** Only a window that was full says anything: a lane that sends now and then has shown nothing. */
  function noticeFull(cursor: number): void {
    if (covered === undefined || covered < lossTo) return
    if (cursor - covered >= effective()) fullTo = cursor
  }

  return {
    get size() {
      return effective()
    },
    get capped() {
      return limit !== undefined
    },
    progress(coveredTo, cursor) {
      noticeFull(cursor)
      const shown = Math.min(coveredTo, fullTo) - Math.max(covered ?? coveredTo, shownTo)
      const isMore = covered === undefined || coveredTo > covered
      covered = coveredTo
      shownTo = Math.max(shownTo, coveredTo)
      // Behind a limit from outside a full window proves that limit, not ours.
      if (shown > 0 && effective() === size) size = Math.min(options.max, size + shown)
      return isMore
    },
    loss(coveredTo, cursor) {
      if (coveredTo < lossTo) return
      size = Math.max(1, Math.floor(effective() / 2))
      lossTo = cursor
      fullTo = Number.NEGATIVE_INFINITY
    },
    cap(next) {
      limit = next
    },
    get aheadMax() {
      return aheadMax
    },
    takes(ahead) {
      if (ahead >= aheadMax) return
      // The first lesson is no trial in vain.
      if (aheadMax !== Number.POSITIVE_INFINITY) trialBlocks = Math.min(2 * trialBlocks, TRIAL_BLOCKS_MAX)
      aheadMax = Math.max(1, ahead)
      blocksLeft = trialBlocks
    },
    holds(ahead) {
      if (ahead <= aheadMax) return
      aheadMax = Number.POSITIVE_INFINITY
      trialBlocks = TRIAL_BLOCKS
    },
    sealed() {
      if (aheadMax === Number.POSITIVE_INFINITY || --blocksLeft > 0) return
      blocksLeft = trialBlocks
      const next = Math.ceil(aheadMax * 1.5)
      aheadMax = next < options.max ? next : Number.POSITIVE_INFINITY
    },
  }
}
