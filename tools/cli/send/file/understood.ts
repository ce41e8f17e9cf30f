import { count, grouped } from '../../shared/output.js'
import { exactAmount, totalsOf } from './amountText.js'
import type { Checks } from './check.js'
import type { Row } from './rows.js'
import type { Table } from './table/table.js'
import { ROLES } from './words/header.js'

type Entry = readonly [name: string, value: string]

const NAMES_SHOWN = 20

/** How a file was read, for the dry run: a person can compare each line with the file. */
export function understoodOf(
  { format, leftOut, head }: Table,
  rows: readonly Row[],
  { columns, decimal, unit, moneys }: Checks,
  backwards: ReadonlyMap<string, string>,
): readonly Entry[] {
  const { at, names } = columns
  const used = ROLES.flatMap((role) => {
    const index = at[role]
    if (index === undefined) return []
    const name = head === undefined ? `cell ${index + 1}` : `“${names[index]}”`
    const more = role === 'amount' && columns.unit !== undefined ? ` in ${columns.unit}` : ''
    return [`${role}: ${name}${more}`]
  })
  const others = names.filter((name, index) => name !== '' && !Object.values(at).includes(index))
  const sums = totalsOf(rows)
  const symbols = new Set(sums.map(({ money }) => money.symbol))
  const tokens = [...moneys.tokens.values()].flatMap((token) =>
    token instanceof Error || !symbols.has(token.symbol)
      ? []
      : [`${token.symbol} ${token.address}, ${token.decimals} decimals`],
  )
  return [
    ['format', format],
    ['columns', used.join(', ')],
    ...(others.length === 0 ? [] : [['no effect', others.map((name) => `“${name}”`).join(', ')] as const]),
    ...(leftOut.length === 0 ? [] : [['lines left out', leftOut.join(', ')] as const]),
    ...(decimal === 'comma' ? [['decimal mark', 'comma'] as const] : []),
    ...(unit === undefined ? [] : [['numbers alone', `in ${unit}`] as const]),
    ...(columns.isSafe
      ? [['numbers alone', 'in whole tokens, as the Safe airdrop format defines'] as const]
      : []),
    ...tokens.map((token) => ['token', token] as const),
    ...namesOf(rows, backwards),
    ...firstAndLast(rows),
    ...sums.map(
      ({ amount, money, lines }) =>
        ['total', `${exactAmount(amount, money)} in ${count(lines, 'line')}`] as const,
    ),
  ]
}

function namesOf(rows: readonly Row[], backwards: ReadonlyMap<string, string>): readonly Entry[] {
  const found = new Map(rows.flatMap(({ name, to }) => (name === undefined ? [] : [[name, to] as const])))
  const shown = [...found].slice(0, NAMES_SHOWN).map(([name, to]) => {
    const back = backwards.get(to)
    const own =
      back === undefined
        ? 'which has no name of its own'
        : back === name
          ? 'which has the same name'
          : `which calls itself ${back}`
    return ['name', `${name} is ${to}, ${own}`] as const
  })
  const more = found.size - shown.length
  return more > 0 ? [...shown, ['names', `${grouped(more)} more`]] : shown
}

function firstAndLast(rows: readonly Row[]): readonly Entry[] {
  const [first, last] = [rows[0], rows.at(-1)]
  const text = ({ line, amount, money, to, name }: Row) =>
    `line ${line}: ${exactAmount(amount, money)} to ${name === undefined ? to : `${name} (${to})`}`
  if (first === undefined || last === undefined) return []
  return first === last
    ? [['only payment', text(first)]]
    : [
        ['first', text(first)],
        ['last', text(last)],
      ]
}
