import { formatUnits, parseUnits } from 'viem'
import type { Money } from './rows.js'

const NUMBER = /^(\d+)(?:\.(\d+))?$/

/**
 * Parses an amount with its unit, into the smallest unit. `unit` applies to a text without its own unit. A
 * number alone is ambiguous, so there is no default.
 * @throws Error with a reason for the user
 */
export function parseAmount(text: string, money: Money, unit: string | undefined): bigint {
  const [number = '', own, ...more] = text.trim().split(/\s+/)
  const [, , fraction = ''] = NUMBER.exec(number) ?? []
  if (!NUMBER.test(number) || more.length > 0) {
    throw new Error(`"${text}" is no amount: write for example "1.5 ${example(money)}"`)
  }
  const named = own ?? unit
  if (named === undefined)
    throw new Error(`"${text}" has no unit: write "${text} ${example(money)}", or give --unit`)
  const decimals = decimalsOf(named, money)
  if (decimals === undefined) throw new Error(`"${named}" is no unit here: ${unitsOf(money).join(', ')}`)
  // Rounding would change the requested payment.
  if (fraction.replace(/0+$/, '').length > decimals) {
    throw new Error(`"${text}" has more than the ${decimals} decimals of ${named}`)
  }
  return parseUnits(number, decimals)
}

export function isUnit(name: string, money: Money): boolean {
  return decimalsOf(name, money) !== undefined
}

export function unitsOf(money: Money): readonly string[] {
  return money.kind === 'native' ? ['ether', 'gwei', 'wei', money.symbol] : [money.symbol, 'tokens', 'base']
}

function decimalsOf(name: string, money: Money): number | undefined {
  const unit = name.toLowerCase()
  if (money.kind === 'token') {
    if (unit === money.symbol.toLowerCase() || unit === 'tokens') return money.decimals
    return unit === 'base' ? 0 : undefined
  }
  if (unit === 'ether' || unit === money.symbol.toLowerCase()) return 18
  if (unit === 'gwei') return 9
  return unit === 'wei' ? 0 : undefined
}

const example = (money: Money): string => (money.kind === 'native' ? 'ether' : money.symbol)

/** The amount for display, in whole units. */
export function showAmount(amount: bigint, money: Money): string {
  return `${formatUnits(amount, money.kind === 'native' ? 18 : money.decimals)} ${money.symbol}`
}
