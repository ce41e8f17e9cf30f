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

/**
 * The number of calls in one request. It grows towards the size that the endpoint accepts, and is halved when
 * a batch is refused.
 */
export type BatchSize = {
  readonly size: number
  /** The newest request was refused or got no answer: only one request at a time tries the next size. */
  readonly isTrial: boolean
  /** Every call of a request with this many calls was answered. */
  answered(calls: number): void
  /** The endpoint refused a request for its size, or for being a batch. */
  refused(calls: number): void
  /**
   * A request got no answer. Some endpoints refuse a large batch in this way. The second such failure
   * therefore counts as a refusal, until a single call fails as well: in that case the size was not the
   * reason.
   */
  failed(calls: number): void
}

/** The number of calls in the second round of slow start: 128 transactions and a count. */
export const BATCH_START = 129
const FAILURES_MIN = 2
/**
 * Full requests at the largest working size before a larger size is tried again, if only missing answers
 * spoke against it.
 */
const TRIAL_REQUESTS = 16
const TRIAL_REQUESTS_MAX = 1_024

export function createBatchSize(options: { readonly start: number; readonly max: number }): BatchSize {
  const { max } = options
  let size = Math.max(1, Math.min(options.start, max))
  let isTrial = false
  // The limits that the endpoint stated, and that were inferred from missing answers.
  let refusedAt = Number.POSITIVE_INFINITY
  let silentAt = Number.POSITIVE_INFINITY
  // The smallest size that got no answer, and the number of failures since a request of that size was
  // answered.
  let suspect = { size: Number.POSITIVE_INFINITY, times: 0 }
  let trialRequests = TRIAL_REQUESTS
  let fullRequests = 0

  const most = (): number => Math.max(1, Math.min(max, refusedAt - 1, silentAt - 1))

  function tryMore(): void {
    if (silentAt === Number.POSITIVE_INFINITY || ++fullRequests < trialRequests) return
    fullRequests = 0
    trialRequests = Math.min(TRIAL_REQUESTS_MAX, 2 * trialRequests)
    silentAt = 2 * silentAt
  }

  function forgetSilence(): void {
    suspect = { size: Number.POSITIVE_INFINITY, times: 0 }
    silentAt = Number.POSITIVE_INFINITY
  }

  return {
    get size() {
      return Math.min(size, most())
    },
    get isTrial() {
      return isTrial
    },
    answered(calls) {
      isTrial = false
      if (calls >= refusedAt) refusedAt = Number.POSITIVE_INFINITY
      if (calls >= Math.min(silentAt, suspect.size)) forgetSilence()
      if (calls >= most()) tryMore()
      size = Math.min(most(), Math.max(size, 2 * calls))
    },
    refused(calls) {
      isTrial = true
      if (calls <= 1) return
      refusedAt = Math.min(refusedAt, calls)
      size = Math.floor(calls / 2)
    },
    failed(calls) {
      isTrial = true
      if (calls <= 1) {
        forgetSilence()
        size = 1
        return
      }
      suspect = { size: Math.min(calls, suspect.size), times: suspect.times + 1 }
      if (suspect.times < FAILURES_MIN) return
      size = Math.floor(Math.min(calls, size) / 2) || 1
      silentAt = Math.min(silentAt, suspect.size)
      fullRequests = 0
    },
  }
}

/**
 * The time that an endpoint takes to answer a request with a given number of calls, measured from its
 * answers.
 */
export type RoundTrip = {
  /** The smoothed time of a small request, in milliseconds; 0 until one was answered. */
  readonly ms: number
  answered(calls: number, tookMs: number): void
  /** The time without an answer after which a count is worth a request. */
  timeoutMs(calls: number): number
}

/** As in RFC 6298, before the first measurement. */
const TIMEOUT_MS_FIRST = 1_000
const TIMEOUT_MS_MIN = 50
const TIMEOUT_MS_MAX = 10_000
/** A node may be busy with other work for half as long again. */
const SLACK = 1.5
const GAIN = 1 / 8
const GAIN_VARIANCE = 1 / 4

export function createRoundTrip(): RoundTrip {
  let base: number | undefined
  let perCall = 0
  let variance = 0

  return {
    get ms() {
      return base ?? 0
    },
    answered(calls, tookMs) {
      if (base === undefined) {
        base = tookMs
        variance = tookMs / 2
        return
      }
      const deviation = tookMs - (base + perCall * calls)
      variance += GAIN_VARIANCE * (Math.abs(deviation) - variance)
      // A large request measures the time per call, a small one the time of the round trip.
      if (tookMs < base || calls <= 2) base = Math.max(0, base + GAIN * deviation)
      else perCall += GAIN * (deviation / calls)
    },
    timeoutMs(calls) {
      if (base === undefined) return TIMEOUT_MS_FIRST
      const expected = SLACK * (base + perCall * calls) + 4 * variance
      return Math.min(TIMEOUT_MS_MAX, Math.max(TIMEOUT_MS_MIN, expected))
    },
  }
}
