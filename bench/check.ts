import { rounded } from '../test/support/statistics.js'
import type { Check, Figure } from './claim.js'

export function atLeast(says: string, value: number | undefined, least: number): Check {
  return { says, ...judged(value, (known) => known >= least), least }
}

export function atMost(says: string, value: number | undefined, most: number): Check {
  return { says, ...judged(value, (known) => known <= most), most }
}

/** The ratio of two medians; undefined if one of them is missing. */
export function ratioOf(
  figures: readonly Figure[],
  measure: string,
  subject: string,
  other: { readonly subject: string; readonly measure?: string },
): number | undefined {
  const [own, others] = [
    medianOf(figures, measure, subject),
    medianOf(figures, other.measure ?? measure, other.subject),
  ]
  return own === undefined || others === undefined ? undefined : own / others
}

export function medianOf(figures: readonly Figure[], measure: string, subject: string): number | undefined {
  return figures.find((figure) => figure.measure === measure && figure.subject === subject)?.median
}

// Judged before rounding: 0.8499 is not 0.85.
function judged(
  value: number | undefined,
  passes: (value: number) => boolean,
): Pick<Check, 'value' | 'passed'> {
  if (value === undefined || !Number.isFinite(value)) return { value: null, passed: false }
  return { value: rounded(value, 4), passed: passes(value) }
}
