import type { Context, Outcome } from '../../claim.js'

/** The context of a part; `transactions` is the number of its largest burst, except for `eventLoop`. */
export type PartContext = Context & {
  /** Path of the geth binary. */
  readonly geth: string
}

/** A part of the claim with its own measurements. */
export type Part = (context: PartContext) => Promise<Outcome>

/** Scales a part's number if fewer transactions are requested than the claim's default. */
export function scaled(count: number, { transactions }: Pick<Context, 'transactions'>): number {
  return Math.max(1, Math.round((count * transactions) / TRANSACTIONS))
}

/** The claim's default number. */
export const TRANSACTIONS = 1_000

/** Joins the outcomes of several parts. */
export function together(outcomes: readonly Outcome[]): Outcome {
  return {
    figures: outcomes.flatMap(({ figures }) => figures),
    checks: outcomes.flatMap(({ checks }) => checks),
    notes: outcomes.flatMap(({ notes }) => notes),
  }
}
