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
  /** The pool keeps at most `held` nonces, as it reported. */
  limit(held: number): void
  /** The pool dropped a nonce with `held` nonces below it. */
  dropped(held: number): void
  /**
   * The pool dropped the next nonce above `held` twice, so that is its limit. A drop with fewer nonces below, or
   * one more nonce than none, refutes that: the endpoint drops for another reason. One node behind a balancer may
   * be cut off from the others.
   */
  droppedTwice(held: number): void
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
  sealed(bound: boolean, batch: number, atMs: number): void
}

/** The size, the smallest size that is known to fail, and the number that is believed to have room. */
type PoolState = { readonly size: number; readonly failed: number; readonly proven: number }

/** Below geth's 5,120, with room for the transactions of other accounts. */
const POOL_START = 4_000
/**
 * Maximum growth per block if no size is known to be too large: a larger step could lose as many transactions
 * at once.
 */
const STEP_UNKNOWN_MAX = 64
/** The time until a failed size is tried again. It doubles after each failure, however fast the blocks are. */
const TRIAL_MS = 8_000
const TRIAL_MS_MAX = 128_000
/** Blocks that the bound limits before the next step: they show whether the pool holds the last one. */
const TRIAL_BLOCKS = 4

export function createPoolBound(start = POOL_START): PoolBound {
  let size = Math.max(1, start)
  // The smallest size that is known to fail.
  let failed = Number.POSITIVE_INFINITY
  let proven = size
  let trialMs = TRIAL_MS
  let blocksLeft = TRIAL_BLOCKS
  // The newest block, and the one after which the size failed or was tried.
  let blockAtMs: number | undefined
  let sinceMs: number | undefined
  // True while a size that had failed is being tried again.
  let isTrial = false
  let losses = 0
  // The state before the last failure.
  let before: PoolState | undefined
  // A limit that only drops have shown, and the state before it.
  let inferred: (PoolState & { readonly held: number }) | undefined

  function fail(failedAt: number, next: number): void {
    losses++
    before = { size, failed, proven }
    // A repetition of the same failure is not a failed trial.
    if (isTrial) trialMs = Math.min(2 * trialMs, TRIAL_MS_MAX)
    isTrial = false
    failed = failedAt
    waitAnew()
    size = Math.max(1, Math.floor(next))
    proven = Math.min(proven, size)
  }

  function restore(earlier: PoolState): void {
    size = Math.max(size, earlier.size)
    failed = earlier.failed
    proven = Math.max(proven, earlier.proven)
    inferred = undefined
  }

  const limit = (held: number) => fail(Math.max(1, held) + 1, held)

  function waitAnew(): void {
    blocksLeft = TRIAL_BLOCKS
    sinceMs = blockAtMs
  }

  function tryMore(atMs: number): void {
    if (--blocksLeft > 0 || atMs - (sinceMs ?? atMs) < trialMs) return
    waitAnew()
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
    limit(held) {
      inferred = undefined
      limit(held)
    },
    dropped(held) {
      if (inferred && held < inferred.held) restore(inferred)
    },
    droppedTwice(held) {
      const earlier = inferred ?? { size, failed, proven }
      limit(held)
      inferred = { ...earlier, held }
    },
    get proven() {
      return proven
    },
    holds(held) {
      if (inferred?.held === 0 && held > 0) restore(inferred)
      proven = Math.max(proven, held)
      if (held < failed) return
      failed = Number.POSITIVE_INFINITY
      isTrial = false
      trialMs = TRIAL_MS
    },
    get losses() {
      return losses
    },
    undo(since) {
      if (before === undefined || losses !== since + 1) return
      restore(before)
      before = undefined
    },
    sealed(bound, batch, atMs) {
      blockAtMs = atMs
      sinceMs ??= atMs
      if (!bound) return
      if (size + 1 < failed) {
        const step = failed === Number.POSITIVE_INFINITY ? Math.min(batch, STEP_UNKNOWN_MAX) : batch
        size = Math.min(size + step, failed - 1)
      } else tryMore(atMs)
    },
  }
}
