import { percentileOfSorted } from '../../tools/report/model/latency.js'

/**
 * The smallest value at or below which the given share of the values lies (nearest rank), so that the result
 * is a measured value. Undefined without values.
 */
export function percentile(values: readonly number[], share: number): number | undefined {
  return percentileOfSorted(
    [...values].sort((a, b) => a - b),
    share,
  )
}

/** Rounds to `digits` decimals. */
export function rounded(value: number, digits: number): number {
  const scale = 10 ** digits
  return Math.round(value * scale) / scale
}
