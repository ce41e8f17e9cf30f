/**
 * Options of a devnet on which `safe` lags by two blocks and `finalized` by four, for tests that wait for
 * them. By default both lag by minutes.
 */
export function shortTags(blockTimeMs: number): {
  readonly safeLagMs: number
  readonly finalizedLagMs: number
} {
  return { safeLagMs: 2 * blockTimeMs, finalizedLagMs: 4 * blockTimeMs }
}
