import type { Context, Outcome } from '../../claim.js'

/** Everything of a claim that a part needs; `transactions` are those of its largest burst but one (`eventLoop`). */
export type PartContext = Context & {
  /** The binary. */
  readonly geth: string
}

/** One measure of the claim, by itself. */
export type Part = (context: PartContext) => Promise<Outcome>

/** A part of so many, where fewer are asked for than the claim has by itself. */
export function scaled(count: number, { transactions }: Pick<Context, 'transactions'>): number {
  return Math.max(1, Math.round((count * transactions) / TRANSACTIONS))
}

/** The claim's own number. */
export const TRANSACTIONS = 1_000

/** What several runs of one part came to. */
export function together(outcomes: readonly Outcome[]): Outcome {
  return {
    figures: outcomes.flatMap(({ figures }) => figures),
    checks: outcomes.flatMap(({ checks }) => checks),
    notes: outcomes.flatMap(({ notes }) => notes),
  }
}
