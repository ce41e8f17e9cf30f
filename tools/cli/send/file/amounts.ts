import { decimalsOf } from './amountText.js'
import { oddAmount } from './oddAmounts.js'
import type { Money } from './rows.js'
import { shown } from './words/cells.js'
import { type Decimal, type Exact, readNumber, scaled } from './words/numbers.js'

/** An amount in its parts, as the cell has them. */
export type AmountText = { readonly number: string; readonly unit: string | undefined }

const AMOUNT =
  /^([^\s\d.,()+-]+(?: (?=[\d.,]))?)?([.,]?\d(?:[\d.,'’_ ]*\d)?(?:e[+-]?\d+)?)(?: ?([^\s\d].*))?$/i

/** Splits a clean cell into its number and its unit, which may stand before or after it. */
export function splitAmount(cell: string): AmountText | undefined {
  const [, before, number, after] = AMOUNT.exec(cell.replace(/^'/, '')) ?? []
  if (number === undefined || (before !== undefined && after !== undefined)) return undefined
  return { number, unit: before?.trim() ?? after }
}

/** The unit of an amount: decimals of its money, and where the unit is written, for messages. */
export type Unit = { readonly name: string; readonly decimals: number }

const UINT256_MAX = 2n ** 256n - 1n

/** @throws Error with a reason for the user. Rounding would change the payment, so there is none. */
export function amountOf(cell: string, exact: Exact, unit: Unit): bigint {
  const amount = scaled(exact, unit.decimals)
  if (amount === undefined)
    throw new Error(`${shown(cell)} has more than the ${unit.decimals} decimals of ${unit.name}`)
  if (amount > UINT256_MAX) throw new Error(`${shown(cell)} is more than any account can have`)
  return amount
}

/** Why a text is no number in the notation of its column. `examples`: texts that are amounts there. */
export function notANumber(cell: string, decimal: Decimal, examples: readonly string[]): string {
  const odd = oddAmount(cell)
  if (odd !== undefined) return odd
  const other = decimal === 'point' ? 'comma' : 'point'
  const hint = readNumber(splitAmount(cell)?.number ?? '', other)
    ? `: the decimal mark of this column is a ${decimal}`
    : exampleText(examples)
  return `${shown(cell)} is no amount${hint}`
}

/** Why a cell is no amount, and how to write one. */
export function noAmount(cell: string, examples: readonly string[]): string {
  const odd = oddAmount(cell)
  if (odd !== undefined) return odd
  if (/[\p{Nd}]/u.test(cell.replace(/[0-9]/g, '')))
    return `${shown(cell)} has digits other than 0 to 9: write them as 0 to 9`
  return `${shown(cell)} is no amount${exampleText(examples)}`
}

const exampleText = ([example]: readonly string[]): string =>
  example === undefined ? '' : `: write for example "${example}"`

/** The unit with this name. Undefined if the money has none. @throws Error if the name has two meanings */
export function unitOf(name: string, money: Money): Unit | undefined {
  const low = name.toLowerCase()
  const isSymbol = low === money.symbol.toLowerCase()
  const fixed = fixedUnit(low, money)
  const own = isSymbol ? decimalsOf(money) : undefined
  if (own !== undefined && fixed !== undefined && own !== fixed)
    throw new Error(`${shown(name)} is a unit, and the symbol of the token: write "tokens" for whole tokens`)
  const decimals = own ?? fixed
  return decimals === undefined ? undefined : { name, decimals }
}

function fixedUnit(low: string, money: Money): number | undefined {
  if (money.kind === 'token') return low === 'tokens' ? money.decimals : low === 'base' ? 0 : undefined
  return { ether: 18, ξ: 18, gwei: 9, wei: 0 }[low]
}

export function unitsOf(money: Money): readonly string[] {
  return money.kind === 'native' ? ['ether', 'gwei', 'wei', money.symbol] : [money.symbol, 'tokens', 'base']
}
