/** One reading of an account, with its sealed block and its time in clock milliseconds. */
export type CountReading = {
  readonly latest: number
  /** Equals `latest` if the endpoint does not show a pending count. */
  readonly pending: number
  readonly head: number
  readonly atMs: number
}

/**
 * Two readings that are this far apart prove more than one, however many blocks were sealed meanwhile: a chain may
 * seal five in a second. Two readings at the same block prove less.
 */
const CONFIRM_MS = 2_000
const AGREE_MS = 3_000

/**
 * A count that is too high may persist for some seconds, and transactions sent above it leave gaps that cost
 * fees to fill.
 */
const AHEAD_MS = 15_000

/**
 * `coldStart: 'settle'`: transactions of an earlier process may be in flight although no count shows them.
 * The account is believed once two readings at different sealed blocks that are 2 s apart agree, or two at the
 * same block that are 3 s apart, with no different reading in between. If `pending` is above `latest` and does not change, the
 * account is believed after 15 s, because transactions in an honest pool move. This is a heuristic: a
 * transaction that lands later is discovered as foreign.
 */
export function createAgreement(): (reading: CountReading) => boolean {
  let first: CountReading | undefined
  return (reading) => {
    if (first?.latest !== reading.latest || first.pending !== reading.pending) first = reading
    if (reading.pending > reading.latest) return reading.atMs - first.atMs >= AHEAD_MS
    return confirms(first, reading)
  }
}

/** Whether a reading is so far from an equal one that the two prove more than one. */
export function confirms(
  first: Pick<CountReading, 'head' | 'atMs'>,
  { head, atMs }: Pick<CountReading, 'head' | 'atMs'>,
): boolean {
  return atMs - first.atMs >= (head === first.head ? AGREE_MS : CONFIRM_MS)
}

/** The range of the `pending` counts of some period: each was at least `min`, and at most `max`. */
export type Bounds = { readonly min: number; readonly max: number }

/**
 * One reading may come from a backend that lags or errs. Bounds are confirmed 2 s after their first reading.
 * `undefined` until then.
 */
export function createBounds(): (reading: CountReading) => Bounds | undefined {
  let first: CountReading | undefined
  let bounds: Bounds = { min: 0, max: 0 }
  return (reading) => {
    const { pending, atMs } = reading
    if (first === undefined) {
      first = reading
      bounds = { min: pending, max: pending }
      return undefined
    }
    bounds = { min: Math.min(bounds.min, pending), max: Math.max(bounds.max, pending) }
    if (atMs - first.atMs < CONFIRM_MS) return undefined
    const confirmed = bounds
    first = reading
    bounds = { min: pending, max: pending }
    return confirmed
  }
}
