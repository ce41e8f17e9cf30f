import { formatUnits } from 'viem'
import { grouped } from '../../shared/output.js'
import type { Money, Row } from './rows.js'

export function decimalsOf(money: Money): number {
  return money.kind === 'native' ? 18 : money.decimals
}

/** The exact amount in the unit that shows it shortest: `20,100.5 USDC`, `0.5 ETH`, `20 gwei`, `5 wei`. */
export function exactAmount(amount: bigint, money: Money): string {
  const [decimals, unit] = unitFor(amount, money)
  return `${groupedDecimal(formatUnits(amount, decimals))} ${unit}`
}

/** Rounded up to four significant digits or four decimals: for fees. Never 0 for an amount that is not 0. */
export function roundedUp(amount: bigint, money: Money): string {
  const step = stepOf(amount, money)
  return exactAmount(((amount + step - 1n) / step) * step, money)
}

/** Rounded down to the same number of digits: for balances. */
export function roundedDown(amount: bigint, money: Money): string {
  const step = stepOf(amount, money)
  return exactAmount((amount / step) * step, money)
}

const DIGITS = 4

function stepOf(amount: bigint, money: Money): bigint {
  const places = Math.min(amount.toString().length, decimalsOf(money)) - DIGITS
  return 10n ** BigInt(Math.max(0, places))
}

// Below these amounts, ether would begin with more than four zeros, and gwei with any.
const GWEI_BELOW = 10n ** 13n
const WEI_BELOW = 10n ** 7n

function unitFor(amount: bigint, money: Money): readonly [decimals: number, unit: string] {
  const size = amount < 0n ? -amount : amount
  if (money.kind === 'token') return [money.decimals, money.symbol]
  if (size === 0n || size >= GWEI_BELOW) return [18, money.symbol]
  return size < WEI_BELOW ? [0, 'wei'] : [9, 'gwei']
}

function groupedDecimal(number: string): string {
  const [whole = '', fraction] = number.split('.')
  return fraction === undefined ? grouped(whole) : `${grouped(whole)}.${fraction}`
}

/** The sum of the amounts in one currency. */
export type Total = { readonly money: Money; readonly amount: bigint; readonly lines: number }

/** The totals per currency, the one with the most lines first. */
export function totalsOf(rows: Iterable<Pick<Row, 'money' | 'amount'>>): readonly Total[] {
  const totals = new Map<string, { money: Money; amount: bigint; lines: number }>()
  for (const { money, amount } of rows) {
    const key = moneyKey(money)
    const total = totals.get(key)
    if (total === undefined) totals.set(key, { money, amount, lines: 1 })
    else {
      total.amount += amount
      total.lines++
    }
  }
  return [...totals.values()].sort((a, b) => b.lines - a.lines)
}

export function moneyKey(money: Money): string {
  return money.kind === 'native' ? 'native' : money.address.toLowerCase()
}

/** `20.1 ETH and 300 USDC`. */
export function totalsText(totals: readonly Total[]): string {
  const [last = 'nothing', ...others] = totals
    .map(({ amount, money }) => exactAmount(amount, money))
    .reverse()
  return others.length === 0 ? last : `${others.reverse().join(', ')} and ${last}`
}
