/** How many calls go in one request: grows towards what the endpoint accepts, and is halved when a batch is refused. */
export type BatchSize = {
  readonly size: number
  /** The newest request was refused or brought no answer: the next size is tried with one request. */
  readonly isTrial: boolean
  /** Every call of a request with so many calls was answered. */
  answered(calls: number): void
  /** The endpoint refused a request for its size, or for being a batch. */
  refused(calls: number): void
  /**
   * A request brought no answer. Some endpoints refuse a large batch in this way: the second such failure makes it a
   * refusal, until a single call fails too: then the size was not the reason.
   */
  failed(calls: number): void
}

/** What slow start sends in its second round, and a count. */
export const BATCH_START = 129
const FAILURES_MIN = 2
/** Full requests at the largest size that worked, until more is tried where only silence spoke against it. */
const TRIAL_REQUESTS = 16
const TRIAL_REQUESTS_MAX = 1_024

export function createBatchSize(options: { readonly start: number; readonly max: number }): BatchSize {
  const { max } = options
  let size = Math.max(1, Math.min(options.start, max))
  let isTrial = false
  // Said by the endpoint, and concluded from silence.
  let refusedAt = Number.POSITIVE_INFINITY
  let silentAt = Number.POSITIVE_INFINITY
  // The smallest size that brought no answer, and how often, since one of that size was answered.
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
