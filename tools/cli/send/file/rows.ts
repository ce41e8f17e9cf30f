import type { Address, Hex } from 'viem'

/** One payment or call, after the checks. */
export type Row = {
  readonly line: number
  /** The id from the file, or a hash of the content with a count: equal lines are different payments. */
  readonly id: string
  /** The recipient, or the contract that is called. */
  readonly to: Address
  /** The name in the file that was resolved to `to`, for example of ENS, in its normal form. */
  readonly name?: string | undefined
  /** The amount in the smallest unit of `money`. */
  readonly amount: bigint
  readonly money: Money
  readonly request: {
    readonly to: Address
    readonly value: bigint
    readonly data?: Hex
    readonly gas?: bigint
  }
  /** The cells of the line as they are in the file. */
  readonly cells: readonly string[]
}

/** A file as it was understood. */
export type Payout = {
  /** The columns as the file names them, in its order. The cells of a row have the same order. */
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
  /** How the file was read, for display: format, columns, units, tokens. */
  readonly understood: readonly (readonly [name: string, value: string])[]
  /** Questions that a person has to answer before anything is sent. */
  readonly doubts: readonly Doubt[]
}

/** Something in the file that may be a mistake. The message says whether the lines are paid. */
export type Doubt = {
  readonly kind: 'repeated' | 'totals' | 'comment' | 'rounded'
  readonly lines: readonly number[]
  readonly message: string
}

export type { Problem } from './table/table.js'

/** The currency of the amounts. */
export type Money =
  | { readonly kind: 'native'; readonly symbol: string }
  | { readonly kind: 'token'; readonly address: Address; readonly symbol: string; readonly decimals: number }
