/** The smallest value at or below which the given share of the sorted values lies. Undefined without values. */
export function percentileOfSorted(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]
}
