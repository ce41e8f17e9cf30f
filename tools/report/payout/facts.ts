import type { Hash } from 'viem'
import type { PayoutLine, PayoutReport } from './payout.js'
import { type Outcome, STATUSES } from './words.js'

type Money = PayoutLine['money']

/** A currency with the amount that was paid in it. Two tokens of one symbol are two currencies. */
export type Total = {
  readonly money: Money
  readonly sums: Readonly<Record<Outcome, Sum>>
}
export type Sum = { readonly lines: number; readonly amount: bigint }

export type Facts = {
  readonly totals: readonly Total[]
  readonly lines: Readonly<Record<Outcome, number>>
  readonly fees: {
    readonly wei: bigint
    /** Lines with a transaction whose fee is not known. */
    readonly unknown: number
    /** Undefined if nothing of the native currency was paid. */
    readonly shareOfPaid: number | undefined
  }
  readonly transactions: number
  /** The largest number of lines in one transaction. */
  readonly packedBy: number
  /** The times of the first and the last block with a payment. */
  readonly between: readonly [first: string, last: string] | undefined
}

export function moneyKey({ token, symbol }: Money): string {
  return token?.toLowerCase() ?? `native ${symbol}`
}

/** Totals by currency, in the order of their first line. */
export function totalsOf(lines: readonly PayoutLine[]): readonly Total[] {
  const totals = new Map<string, { money: Money; sums: Record<Outcome, { lines: number; amount: bigint }> }>()
  for (const { money, status, amount, received = amount } of lines) {
    const key = moneyKey(money)
    let total = totals.get(key)
    if (total === undefined) {
      total = { money, sums: { paid: none(), unpaid: none(), unsure: none() } }
      totals.set(key, total)
    }
    const sum = total.sums[STATUSES[status].outcome]
    sum.lines++
    sum.amount += received
  }
  return [...totals.values()]
}

const none = () => ({ lines: 0, amount: 0n })

export function factsOf({ lines }: PayoutReport): Facts {
  const counts: Record<Outcome, number> = { paid: 0, unpaid: 0, unsure: 0 }
  const hashes = new Map<Hash, number>()
  let [wei, unknown, packedBy] = [0n, 0, 0]
  let first: number | undefined
  let last: number | undefined
  for (const { status, feeWei, hash, time, sharedBy } of lines) {
    counts[STATUSES[status].outcome]++
    packedBy = Math.max(packedBy, sharedBy ?? 1)
    if (hash !== undefined) hashes.set(hash, (hashes.get(hash) ?? 0) + 1)
    if (feeWei !== undefined) wei += feeWei
    else if (status !== 'failed' && status !== 'cancelled' && STATUSES[status].outcome !== 'unsure') unknown++
    const at = STATUSES[status].outcome === 'paid' ? Date.parse(time ?? '') : Number.NaN
    if (Number.isNaN(at)) continue
    first = Math.min(at, first ?? at)
    last = Math.max(at, last ?? at)
  }
  const totals = totalsOf(lines)
  const native = totals.find(({ money }) => money.token === undefined)?.sums.paid.amount ?? 0n
  return {
    totals,
    lines: counts,
    fees: {
      wei,
      unknown,
      shareOfPaid: native > 0n ? Number((wei * 1_000_000n) / native) / 1_000_000 : undefined,
    },
    transactions: hashes.size,
    packedBy,
    between: first === undefined || last === undefined ? undefined : [isoOf(first), isoOf(last)],
  }
}

const isoOf = (at: number): string => new Date(at).toISOString()
