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
