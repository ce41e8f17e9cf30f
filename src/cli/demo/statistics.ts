/**
 * The value below or at which `share` of the values lie: the smallest one that satisfies it (nearest rank), so that
 * it is a value that was measured. Undefined for no values.
 */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  const rank = Math.max(1, Math.ceil(share * sorted.length))
  return sorted[rank - 1]
}

/** Rounded to `digits` after the point. */
export function rounded(value: number, digits: number): number {
  const scale = 10 ** digits
  return Math.round(value * scale) / scale
}
