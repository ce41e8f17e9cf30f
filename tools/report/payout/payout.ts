import type { Address, Hash } from 'viem'

/** A payout as the report page and the accounting file show it. */
export type PayoutReport = {
  /** The name of the file that was paid, without its folder. */
  readonly file: string
  readonly chain: {
    readonly id: number
    readonly name: string
    /** The symbol of the native currency, in which fees are paid. */
    readonly symbol: string
    /** The chain's explorer, for example `https://basescan.org`; undefined where viem's chain has none. */
    readonly explorer: string | undefined
  }
  readonly account: Address
  /** When the first run began, in ISO 8601 with a zone. */
  readonly begunAt: string
  /** The lines in the order of the file. */
  readonly lines: readonly PayoutLine[]
}

/** One line of the file and its result. */
export type PayoutLine = {
  readonly line: number
  readonly id: string
  readonly to: Address
  /** The person or the organisation that is paid, or the name in the file that was resolved to `to`. */
  readonly name?: string | undefined
  /** The free text of the line. */
  readonly note?: string | undefined
  /** The amount in the smallest unit. */
  readonly amount: bigint
  readonly money: {
    readonly symbol: string
    readonly decimals: number
    /** Undefined for the native currency. */
    readonly token: Address | undefined
  }
  readonly status:
    | 'paid'
    | 'partial'
    | 'unmoved'
    | 'reverted'
    | 'failed'
    | 'cancelled'
    | 'unresolved'
    | 'open'
  readonly nonce?: number | undefined
  readonly hash?: Hash | undefined
  readonly block?: bigint | undefined
  /** The timestamp of the block, in ISO 8601 with a zone. */
  readonly time?: string | undefined
  /** The fee of the line in wei: that of its transaction, divided by the lines that share it. */
  readonly feeWei?: bigint | undefined
  /** The number of lines in the transaction. */
  readonly sharedBy?: number | undefined
  /** The amount that the recipient got in the smallest unit, if it is not the amount of the line. */
  readonly received?: bigint | undefined
  /** Why the line was not paid. */
  readonly error?: string | undefined
}

/**
 * The shares of a fee among the lines of one transaction. They add up to the fee exactly: the first lines take
 * a wei more if it does not divide evenly.
 */
export function feeShares(feeWei: bigint, lines: number): readonly bigint[] {
  const [share, rest] = [feeWei / BigInt(lines), Number(feeWei % BigInt(lines))]
  return Array.from({ length: lines }, (_, index) => share + (index < rest ? 1n : 0n))
}
