/** What one reading of an account says, at which sealed block and when it was taken, in clock milliseconds. */
export type CountReading = {
  readonly latest: number
  /** The same as `latest` where the endpoint shows no more. */
  readonly pending: number
  readonly head: number
  readonly atMs: number
}

/** On a chain without empty blocks nothing but time tells two readings apart. */
const AGREE_MS = 3_000
const CONFIRM_MS = 2_000

/** A count that is too high may last for some seconds, and whatever is sent above it leaves gaps that have to be paid. */
const AHEAD_MS = 15_000

/**
 * `coldStart: 'settle'`: transactions of an earlier life may be on their way where no count shows them. The account is
 * believed once two readings at different sealed blocks agree, or two at the same block that lie 3 s apart with none
 * between that differs; where `pending` is above `latest` and stands still, after 15 s: what waits in an honest pool
 * moves. A heuristic: what lands later is discovered as foreign.
 */
export function createAgreement(): (reading: CountReading) => boolean {
  let first: CountReading | undefined
  return (reading) => {
    if (first?.latest !== reading.latest || first.pending !== reading.pending) first = reading
    const sinceMs = reading.atMs - first.atMs
    if (reading.pending > reading.latest) return sinceMs >= AHEAD_MS
    return reading.head !== first.head || sinceMs >= AGREE_MS
  }
}

/** What the `pending` counts of some time said: each of them at least `min`, none of them more than `max`. */
export type Bounds = { readonly min: number; readonly max: number }

/**
 * One reading may come from a backend that lags or errs. Bounds are confirmed when another block was sealed since the
 * first reading that they rest on, or 2 s have passed. `undefined` until then.
 */
export function createBounds(): (reading: CountReading) => Bounds | undefined {
  let first: CountReading | undefined
  let bounds: Bounds = { min: 0, max: 0 }
  return (reading) => {
    const { pending, head, atMs } = reading
    if (first === undefined) {
      first = reading
      bounds = { min: pending, max: pending }
      return undefined
    }
    bounds = { min: Math.min(bounds.min, pending), max: Math.max(bounds.max, pending) }
    if (head === first.head && atMs - first.atMs < CONFIRM_MS) return undefined
    const confirmed = bounds
    first = reading
    bounds = { min: pending, max: pending }
    return confirmed
  }
}
