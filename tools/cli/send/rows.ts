import type { Address, Hex } from 'viem'

/** The raw fields of a line: the columns of a CSV line, or the fields of an object. */
export type RawRow = { readonly line: number; readonly fields: Readonly<Record<string, string | undefined>> }

/** One payment or call, after the checks. */
export type Row = {
  readonly line: number
  /** The id from the file, or a hash of the content with a count: equal lines are different payments. */
  readonly id: string
  /** The recipient, or the contract that is called. */
  readonly to: Address
  /** In the smallest unit of the native currency or the token. */
  readonly amount: bigint
  readonly request: {
    readonly to: Address
    readonly value: bigint
    readonly data?: Hex
    readonly gas?: bigint
  }
}

export type Problem = { readonly line: number; readonly message: string }

/** The currency of the amounts. */
export type Money =
  | { readonly kind: 'native'; readonly symbol: string }
  | { readonly kind: 'token'; readonly address: Address; readonly symbol: string; readonly decimals: number }

/** Column names, for CSV and JSON Lines alike. */
export const COLUMNS = ['id', 'to', 'amount', 'data', 'function', 'args', 'gas', 'note'] as const
