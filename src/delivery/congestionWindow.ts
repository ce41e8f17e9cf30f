/**
 * The number of nonces that may be unacknowledged at one endpoint, as in TCP: slow start, then additive
 * growth, halved on a loss.
 */
export type CongestionWindow = {
  readonly size: number
  /**
   * The largest number of nonces that were unacknowledged at once, in a full window, and were all
   * acknowledged.
   */
  readonly proven: number
  /**
   * The window is full: as many nonces as it allows, up to `sentTo`, are unacknowledged. Only a full window
   * proves anything.
   */
  filled(sentTo: number): void
  /**
   * The cumulative acknowledgement moved. `batch`: calls in one request, which is the step of additive
   * growth.
   */
  acknowledged(from: number, to: number, batch: number): void
  /**
   * A nonce was lost, or the pool was full. The window is halved at most once for the nonces that are
   * unacknowledged now.
   */
  loss(acknowledgedTo: number, sentTo: number): void
  /** How often the window was halved. */
  readonly losses: number
  /**
   * Undoes the last loss if it is the one that followed the first `losses` losses, because that loss was
   * spurious.
   */
  undo(losses: number): void
}

export function createCongestionWindow(options: {
  /** The window at first: the number of nonces that the endpoint is known to accept, or 64. */
  readonly start: number
  readonly max: number
}): CongestionWindow {
  let size = Math.max(1, Math.min(options.start, options.max))
  // Slow start ends at the window size of the last loss.
  let threshold = Number.POSITIVE_INFINITY
  let fullTo = Number.NEGATIVE_INFINITY
  // The size of the window when it was full up to `fullTo`.
  let fullSize = 0
  // An acknowledgement that is repeated after a reorg proves nothing new.
  let provenTo = Number.NEGATIVE_INFINITY
  let lossTo = Number.NEGATIVE_INFINITY
  let proven = 0
  // Fractions of a nonce that additive growth has earned.
  let credit = 0
  let losses = 0
  // Size and threshold before the last loss.
  let before: { readonly size: number; readonly threshold: number } | undefined

  function grow(nonces: number, batch: number): void {
    const doubling = Math.max(0, Math.min(nonces, threshold - size))
    credit += ((nonces - doubling) * batch) / size
    const whole = Math.floor(credit)
    credit -= whole
    size = Math.min(options.max, size + doubling + whole)
  }

  return {
    get size() {
      return size
    },
    get proven() {
      return proven
    },
    filled(sentTo) {
      if (sentTo <= fullTo) return
      fullTo = sentTo
      fullSize = size
    },
    acknowledged(from, to, batch) {
      const nonces = Math.min(to, fullTo) - Math.max(from, provenTo)
      provenTo = Math.max(provenTo, to)
      if (nonces <= 0) return
      if (to >= fullTo) proven = Math.max(proven, fullSize)
      if (to > lossTo) grow(nonces, batch)
    },
    loss(acknowledgedTo, sentTo) {
      if (acknowledgedTo < lossTo) return
      losses++
      before = { size, threshold }
      threshold = size
      size = Math.max(1, Math.floor(size / 2))
      lossTo = sentTo
      fullTo = Number.NEGATIVE_INFINITY
      credit = 0
    },
    get losses() {
      return losses
    },
    undo(since) {
      if (before === undefined || losses !== since + 1) return
      size = Math.max(size, before.size)
      threshold = before.threshold
      lossTo = Number.NEGATIVE_INFINITY
      before = undefined
    },
  }
}
