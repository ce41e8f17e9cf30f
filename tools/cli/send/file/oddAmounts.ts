import { shown } from './words/cells.js'

/** Forms of cells that people and spreadsheets write into columns of amounts, and the remedy for each. */
const ODD: readonly (readonly [form: RegExp, says: string])[] = [
  [/^(?:[-−–(].*\d|.*\d\)?\s?[-−–]$)/, 'is negative: it cannot be paid'],
  [/%/, 'is a percentage: write the amount itself'],
  [/^0x[0-9a-f]+$/i, 'is a hexadecimal number: write it with the digits 0 to 9'],
  [
    /^\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:\b|$)|^\d{1,2}:\d\d/,
    'looks like a date or a time, which spreadsheets make of amounts: format the cell as text, and type the amount again',
  ],
  [/[½¼¾⅓⅔⅛]|\d\s*\/\s*\d/, 'is a fraction: write it with a decimal mark'],
  [/^[~≈<>±]|[+?]$|^(?:ca|circa|about|approx)\b/i, 'is not exact: write the amount that is paid'],
  [/\d[\d.,]*\s?(?:k|m|mio|mn|bn|b|tsd)\.?$/i, 'is abbreviated: write all of its digits'],
  [
    /^#(?:[\p{Lu}¡¿]|N\/|N\b)/u,
    'is an error value of a spreadsheet: correct the formula there, and save the file again',
  ],
  [/[$€£¥₹₽]/, 'has the sign of a national currency: write the amount with the unit that is paid'],
  [/^[\d.,]*[.,]$/, 'ends with a decimal mark: write all of its digits'],
]

/** The reason why a cell is not an amount; undefined if its form is not known. */
export function oddAmount(cell: string): string | undefined {
  const found = ODD.find(([form]) => form.test(cell))
  return found && `${shown(cell)} ${found[1]}`
}
