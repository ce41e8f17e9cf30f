import { isAddress } from 'viem'
import { type Unit, unitOf, unitsOf } from './amounts.js'
import { oddAmount } from './oddAmounts.js'
import type { Money } from './rows.js'
import { Unreadable } from './table/table.js'
import type { Token, Tokens } from './tokens.js'
import { shown } from './words/cells.js'

/** The currencies of a file. */
export type Moneys = {
  readonly native: Money
  /** The currency of rows that name none; undefined if several tokens are given. */
  readonly usual: Money | undefined
  readonly tokens: Tokens
  /** The tokens by their symbols in lower case. A token with the symbol of the chain's currency is refused. */
  readonly bySymbol: ReadonlyMap<string, Token | Error>
  /** The user named tokens on the command line. */
  readonly given: boolean
}

/** @throws Unreadable if two tokens have the same symbol, because amounts would not show which one is paid */
export function moneysOf(native: Money, tokens: Tokens, given: readonly string[]): Moneys {
  const bySymbol = new Map<string, Token | Error>()
  for (const token of tokens.values()) {
    if (token instanceof Error) continue
    const key = token.symbol.toLowerCase()
    const other = bySymbol.get(key)
    if (other !== undefined && !(other instanceof Error))
      throw new Unreadable(
        `pays two tokens called ${token.symbol}, ${other.address} and ${token.address}: pay them from separate files.`,
      )
    const isNative = key === native.symbol.toLowerCase()
    const message = `is in ${token.symbol}, and both the currency of the chain and the token ${token.address} are called so`
    bySymbol.set(key, isNative ? new Error(message) : token)
  }
  const [only, ...more] = given.map((address) => tokens.get(address.toLowerCase()))
  const usual = only === undefined ? native : more.length > 0 || only instanceof Error ? undefined : only
  return { native, usual, tokens, bySymbol, given: given.length > 0 }
}

/** The currency that a cell of a token column names, and the unit that its symbol implies. */
export type Named = { readonly money: Money; readonly unit?: string }

/** @throws Error with a reason for the user */
export function moneyNamed(cell: string, moneys: Moneys): Named {
  const { native, tokens } = moneys
  if (/^0x/i.test(cell)) {
    const token = isAddress(cell, { strict: false }) ? tokens.get(cell.toLowerCase()) : undefined
    if (token === undefined) throw new Error(`${shown(cell)} is no address of a token`)
    if (token instanceof Error) throw token
    return { money: token }
  }
  const token = moneys.bySymbol.get(cell.toLowerCase())
  if (token instanceof Error) throw new Error(`${token.message}: write "ether" or the address of the token`)
  if (token !== undefined) return { money: token, unit: cell }
  if (cell.toLowerCase() === 'native') return { money: native }
  if (unitOf(cell, native) !== undefined) return { money: native, unit: cell }
  throw new Error(
    `${shown(cell)} does not say which token it is: give its address, in the column or as --token ADDRESS`,
  )
}

/** The places in which the unit of a number may be written, from the nearest to the farthest. */
export type UnitSources = {
  readonly cell: string | undefined
  readonly column: string | undefined
  readonly head: { readonly unit: string; readonly name: string } | undefined
  readonly token: string | undefined
  readonly option: string | undefined
  readonly format: string | undefined
}

/**
 * The text of a number, and its usual notation for messages. `isRead`: whether a text would be read as an amount in
 * this cell.
 */
export type NumberText = {
  readonly text: string
  readonly written: string
  readonly isRead: (text: string) => boolean
}

/** The unit of a number. @throws Error if it has none, if it is unknown, or if two places contradict each other */
export function unitAmong(sources: UnitSources, money: Money, number: NumberText): Unit {
  const { text } = number
  const { cell, column, head, token, option, format } = sources
  const known = (name: string | undefined) => (name === undefined ? undefined : unitOf(name, money))
  for (const name of [cell, column])
    if (name !== undefined && known(name) === undefined)
      throw new Error(
        (name === cell ? oddAmount(text) : undefined) ??
          `${name === cell ? `${shown(text)}: ` : ''}${noUnit(name, '', money)}`,
      )
  const own = known(cell) ?? known(column)
  const above = known(head?.unit)
  // A token may have another symbol on this chain (USDC.e). Only the user knows that.
  const isRenamed = money.kind === 'token' && head !== undefined && !NATIVE.has(head.unit.toLowerCase())
  if (head !== undefined && above === undefined && !(isRenamed && (own ?? known(option))))
    throw new Error(noUnit(head.unit, ` in the name of the column ${shown(head.name)}`, money))
  for (const other of [known(column), above, known(token)])
    if (own !== undefined && other !== undefined && own.decimals !== other.decimals)
      throw new Error(`${shown(text)} is in ${own.name}, and its column or row says ${other.name}: leave one`)
  const unit = own ?? above ?? known(token) ?? known(option) ?? known(format)
  if (unit !== undefined) return unit
  throw new Error(withoutUnit(money, number))
}

/**
 * The message for a number without a unit. It proposes units whose decimals are enough for the number: a number with
 * decimals is not in wei.
 */
function withoutUnit(money: Money, { text, written, isRead }: NumberText): string {
  const units =
    money.kind === 'native'
      ? [
          { option: 'ether', names: ['ether'] },
          { option: 'wei', names: ['wei'] },
        ]
      : [
          { option: 'tokens', names: [money.symbol, 'tokens'] },
          { option: 'base', names: ['base'] },
        ]
  const found = units.flatMap(({ option, names }) => {
    const whole = names.map((name) => `${written} ${name}`).find(isRead)
    return whole === undefined ? [] : [{ option: `--unit ${option}`, whole: `"${whole}"` }]
  })
  if (found.length === 0) return `${shown(text)} has no unit, and cannot be paid in any`
  const [wholes, options] = [found.map(({ whole }) => whole), found.map(({ option }) => option)]
  return `${shown(text)} has no unit: write ${wholes.join(' or ')}, or say ${options.join(' or ')}`
}

const NATIVE = new Set(['eth', 'ether', 'gwei', 'wei'])

function noUnit(name: string, where: string, money: Money): string {
  const isInHead = where !== '' && !NATIVE.has(name.toLowerCase())
  const hint =
    money.kind === 'native'
      ? '. For a token give --token ADDRESS'
      : isInHead
        ? `. If it means ${money.symbol}, say --unit tokens`
        : ''
  return `${shown(name)}${where} is no unit here: ${unitsOf(money).join(', ')}${hint}`
}
