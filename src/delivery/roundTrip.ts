/** How long an endpoint takes to answer a request with so many calls, from the answers that came. */
export type RoundTrip = {
  /** The smoothed time of a small request, in milliseconds; 0 until one was answered. */
  readonly ms: number
  answered(calls: number, tookMs: number): void
  /** After so many milliseconds without an answer it is worth asking what has arrived. */
  timeoutMs(calls: number): number
}

/** As in RFC 6298, where nothing has been measured. */
const TIMEOUT_MS_FIRST = 1_000
const TIMEOUT_MS_MIN = 50
const TIMEOUT_MS_MAX = 10_000
/** A node may be busy with something else for as long again. */
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
      // A large request says how long a call takes, a small one how long the way is.
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
