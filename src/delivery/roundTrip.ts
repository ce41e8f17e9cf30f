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
