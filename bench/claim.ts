import type { Spread } from './support/spread.js'

/** What was measured of one subject: of several rounds, or of several samples where the unit says so. */
export type Figure = Omit<Spread, 'values'> & {
  readonly subject: string
  /** What the numbers of several subjects have in common: one chart each. */
  readonly measure: string
  readonly unit: string
}

/** A number that is to be reached. `value` is null where it could not be had, and nothing was reached then. */
export type Check = {
  readonly says: string
  readonly value: number | null
  readonly least?: number
  readonly most?: number
  readonly passed: boolean
}

/** What grew in the course of a round: a picture of its own. */
export type Curves = {
  /** A part of the file's name. */
  readonly name: string
  readonly title: string
  readonly x: string
  /** Of x, after a number: ` s`. */
  readonly unit: string
  readonly y: string
  readonly series: readonly {
    readonly subject: string
    readonly points: readonly (readonly [x: number, y: number])[]
  }[]
}

/** Why it was not measured, in one line. */
export type LeftOut = { readonly leftOut: string }

export type Outcome = {
  readonly figures: readonly Figure[]
  readonly checks: readonly Check[]
  /** What a reader has to know about the figures. */
  readonly notes: readonly string[]
  readonly curves?: Curves
}

export type Context = {
  /** Rounds that count. A round before them warms up, where a claim has rounds. */
  readonly rounds: number
  readonly transactions: number
  /** Sign before the clock starts, where the claim knows how (`durable`). */
  readonly presigned: boolean
  /** Of a claim in parts (`delivery`), these alone; all where none is named. */
  readonly parts: readonly string[]
  /** Where the run stands. */
  say(line: string): void
}

/** One thing that is claimed of txlane, and how it is measured beside its peers. */
export type Claim = {
  /** The claim in one sentence, with no number in it: those are the checks'. */
  readonly says: string
  /** How many a round, unless the command line says otherwise; `unit` says of what. */
  readonly transactions: number
  readonly run: (context: Context) => Promise<Outcome | LeftOut>
}
