import type { Address, Hex } from 'viem'

/** What a file asks for, in its own words: every column of a line, or every field of an object. */
export type RawRow = { readonly line: number; readonly fields: Readonly<Record<string, string | undefined>> }

/** One payment or call, checked. */
export type Row = {
  readonly line: number
  /** The file's own, or its content with a count: equal lines are different payments. */
  readonly id: string
  /** Who gets it, or the contract that is called. */
  readonly to: Address
  /** In the smallest unit: wei, or of the token. */
  readonly amount: bigint
  readonly request: {
    readonly to: Address
    readonly value: bigint
    readonly data?: Hex
    readonly gas?: bigint
  }
}

export type Problem = { readonly line: number; readonly message: string }

/** What amounts are in. */
export type Money =
  | { readonly kind: 'native'; readonly symbol: string }
  | { readonly kind: 'token'; readonly address: Address; readonly symbol: string; readonly decimals: number }

/** The words of a column, for CSV and JSON Lines alike. */
export const COLUMNS = ['id', 'to', 'amount', 'data', 'function', 'args', 'gas', 'note'] as const
