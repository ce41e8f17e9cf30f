import { isAddressLike } from '../words/cells.js'
import { meaningOf } from '../words/header.js'

/** Rows within which the names of the columns are looked for: a title and remarks may stand above them. */
export const SEARCHED = 30

/**
 * The index of the row that names the columns; undefined if there is none. A row with a payment ends the
 * search. Names that are no known words are recognised by the payment below them.
 */
export function headIndexOf(rows: readonly (readonly string[])[]): number | undefined {
  let last: number | undefined
  for (const [index, cells] of rows.slice(0, SEARCHED).entries()) {
    if (cells.some(isAddressLike)) return last
    // A comment may mention an address or an amount, but hardly in two cells.
    const names = knownNames(cells)
    if (filled(cells) < 2 || (cells[0]?.startsWith('#') && cells[0] !== '#' && names < 2)) continue
    if (names > 0) return index
    if (!cells.some((cell) => /^\s*\d/.test(cell))) last = index
  }
  return last
}

/** The number of cells that name a column of recipients or amounts. */
export function knownNames(cells: readonly string[]): number {
  const roles = cells.map((cell) => meaningOf(cell)?.role)
  return new Set(roles.filter((role) => role === 'to' || role === 'amount' || role === 'token')).size
}

const filled = (cells: readonly string[]) => cells.filter((cell) => cell !== '').length

/** The cells without the empty ones at the end. */
export function trimEnd(cells: readonly string[]): readonly string[] {
  let end = cells.length
  while (end > 0 && (cells[end - 1] ?? '').trim() === '') end--
  return end === cells.length ? cells : cells.slice(0, end)
}
