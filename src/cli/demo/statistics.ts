/** As `percentile`, of values that are sorted already. */
export function percentileOfSorted(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]
}

/**
 * The value below or at which `share` of the values lie: the smallest one that satisfies it (nearest rank), so that
 * it is a value that was measured. Undefined for no values.
 */
export function percentile(values: readonly number[], share: number): number | undefined {
  return percentileOfSorted(
    [...values].sort((a, b) => a - b),
    share,
  )
}

/** Rounded to `digits` after the point. */
export function rounded(value: number, digits: number): number {
  const scale = 10 ** digits
  return Math.round(value * scale) / scale
}
