/**
 * The number of nonces above the account's `latest` count that may be at one endpoint. They occupy its pool
 * even when the `pending` count includes them: geth cuts the largest accounts silently once its pool holds
 * 5,120 executable transactions (`truncatePending` in `core/txpool/legacypool`), and other pools keep 16 or
 * 64 transactions of an account.
 */
export type PoolBound = {
  readonly size: number
  /**
   * The number of nonces that are believed to have room. Beyond it a count that makes no progress may be a
   * drop.
   */
  readonly proven: number
  /**
   * A nonce was dropped with `held` nonces of the account below it, and no missing nonce explains the drop.
   */
  loss(held: number): void
  /** The pool keeps at most `held` nonces: it reported that limit, or it dropped the next nonce twice. */
  limit(held: number): void
  /** The pool was seen to keep `held` nonces at once. */
  holds(held: number): void
  /** How often a size failed. */
  readonly losses: number
  /**
   * Undoes the last loss if it is the one that followed the first `losses` losses, because that loss was
   * spurious.
   */
  undo(losses: number): void
  /**
   * A sealed block came. `bound`: the bound held nonces back. `batch`: calls in one request, which is the
   * step of growth.
   */
  sealed(bound: boolean, batch: number): void
}

/** Below geth's 5,120, with room for the transactions of other accounts. */
const POOL_START = 4_000
/**
 * Maximum growth per block if no size is known to be too large: a larger step could lose as many transactions
 * at once.
 */
const STEP_UNKNOWN_MAX = 64
/** Sealed blocks until a failed size is tried again. The number doubles after each failure. */
const TRIAL_BLOCKS = 4
const TRIAL_BLOCKS_MAX = 64

export function createPoolBound(start = POOL_START): PoolBound {
  let size = Math.max(1, start)
  // The smallest size that is known to fail.
  let failed = Number.POSITIVE_INFINITY
  let proven = size
  let trialBlocks = TRIAL_BLOCKS
  let blocksLeft = TRIAL_BLOCKS
  // True while a size that had failed is being tried again.
  let isTrial = false
  let losses = 0
  // The state before the last failure.
  let before: { readonly size: number; readonly failed: number; readonly proven: number } | undefined

  function fail(failedAt: number, next: number): void {
    losses++
    before = { size, failed, proven }
    // A repetition of the same failure is not a failed trial.
    if (isTrial) trialBlocks = Math.min(2 * trialBlocks, TRIAL_BLOCKS_MAX)
    isTrial = false
    failed = failedAt
    blocksLeft = trialBlocks
    size = Math.max(1, Math.floor(next))
    proven = Math.min(proven, size)
  }

  function tryMore(): void {
    if (--blocksLeft > 0) return
    blocksLeft = trialBlocks
    isTrial = true
    size += Math.min(Math.ceil(size / 2), STEP_UNKNOWN_MAX)
    failed = Math.max(failed, size)
  }

  return {
    get size() {
      return size
    },
    // A drop far below the bound may have another reason: the earlier size is not known to be too large.
    loss: (held) => fail(2 * held < size ? size : held + 1, size / 2),
    limit: (held) => fail(Math.max(1, held) + 1, held),
    get proven() {
      return proven
    },
    holds(held) {
      proven = Math.max(proven, held)
      if (held < failed) return
      failed = Number.POSITIVE_INFINITY
      isTrial = false
      trialBlocks = TRIAL_BLOCKS
    },
    get losses() {
      return losses
    },
    undo(since) {
      if (before === undefined || losses !== since + 1) return
      size = Math.max(size, before.size)
      failed = before.failed
      proven = Math.max(proven, before.proven)
      before = undefined
    },
    sealed(bound, batch) {
      if (!bound) return
      if (size + 1 < failed) {
        const step = failed === Number.POSITIVE_INFINITY ? Math.min(batch, STEP_UNKNOWN_MAX) : batch
        size = Math.min(size + step, failed - 1)
      } else tryMore()
    },
  }
}
