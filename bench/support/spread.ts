import { percentile, rounded } from '../../test/support/statistics.js'
import type { Figure } from '../claim.js'

export type Spread = {
  readonly median: number
  readonly least: number
  readonly most: number
  /** Number of values. */
  readonly rounds: number
  /** Values in ascending order. */
  readonly values: readonly number[]
}

/** Undefined without values. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  const [least, most] = [sorted[0], sorted[sorted.length - 1]]
  if (least === undefined || most === undefined) return undefined
  const middle = sorted.length >> 1
  const upper = sorted[middle] as number
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2
  return { median, least, most, rounds: sorted.length, values: sorted }
}

/** Figures of all subjects with values. A subject without a value gets no figure. */
export function figuresOf(
  label: Pick<Figure, 'measure' | 'unit'>,
  bySubject: Iterable<readonly [subject: string, values: readonly number[]]>,
): readonly Figure[] {
  return [...bySubject].flatMap(([subject, values]) => {
    const spread = spreadOf(values)
    if (spread === undefined) return []
    const { median, least, most, rounds } = spread
    return [{ subject, ...label, median: short(median), least: short(least), most: short(most), rounds }]
  })
}

export function percentileOf(values: readonly number[], share: number): number | undefined {
  return percentile(values, share)
}

/** Rounds to five digits: more would be noise. */
function short(value: number): number {
  const digits = Math.max(0, 4 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return rounded(value, Math.min(digits, 9))
}
