import { rounded } from '../test/support/statistics.js'
import type { Spread } from './support/spread.js'

/**
 * Measurement of one subject: the spread over several rounds, or over several samples if the unit says so.
 */
export type Figure = Omit<Spread, 'values'> & {
  readonly subject: string
  /** The measured quantity, which several subjects share: one chart each. */
  readonly measure: string
  readonly unit: string
}

/** A target. `value` is null if it could not be measured; the check then fails. */
export type Check = {
  readonly says: string
  readonly value: number | null
  readonly least?: number
  readonly most?: number
  readonly passed: boolean
}

/** Values that grew during a round, for a separate chart. */
export type Curves = {
  /** Part of the file name. */
  readonly name: string
  readonly title: string
  readonly x: string
  /** Unit of x, appended to a number: ` s`. */
  readonly unit: string
  readonly y: string
  readonly series: readonly {
    readonly subject: string
    readonly points: readonly (readonly [x: number, y: number])[]
  }[]
}

/** The reason why a claim was not measured, in one line. */
export type LeftOut = { readonly leftOut: string }

export type Outcome = {
  readonly figures: readonly Figure[]
  readonly checks: readonly Check[]
  /** Explanations that a reader of the figures needs. */
  readonly notes: readonly string[]
  readonly curves?: Curves
}

export type Context = {
  /** Rounds that count. Claims with rounds run one more before them as a warm-up. */
  readonly rounds: number
  readonly transactions: number
  /** Sign before the clock starts, for claims that support it (`durable`). */
  readonly presigned: boolean
  /** Parts to run, for a claim with parts (`delivery`); all if empty. */
  readonly parts: readonly string[]
  /** Reports the progress of the run. */
  say(line: string): void
}

/** A claim about txlane, and its measurement beside other libraries. */
export type Claim = {
  /** The claim in one sentence, without a number: numbers belong to the checks. */
  readonly says: string
  /** Default number per round; `unit` names the counted items. */
  readonly transactions: number
  readonly run: (context: Context) => Promise<Outcome | LeftOut>
}

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
