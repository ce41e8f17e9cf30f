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
