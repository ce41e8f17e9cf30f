import { stripVTControlCharacters } from 'node:util'
import Table from 'cli-table3'
import { createColors } from 'picocolors'

export type Colors = ReturnType<typeof createColors>

/**
 * Colours for standard output. By default picocolors also colours pipes in CI, and does not look at the
 * stream.
 */
export function colors(): Colors {
  return createColors(wantsColors())
}

function wantsColors(): boolean {
  if (process.env.NO_COLOR) return false
  const { FORCE_COLOR: forced } = process.env
  // 0 is a common way to say no.
  if (forced === '0' || forced === 'false') return false
  return Boolean(forced) || (process.stdout.isTTY && process.env.TERM !== 'dumb')
}

/** The columns of the terminal that shows the text; without a terminal there is no limit. */
export function widthOf(stream: { isTTY?: boolean | undefined; columns?: number } = process.stdout): number {
  return stream.isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY
}

/** A two-column table without lines: names on the left, values on the right, wrapped between words. */
export function pairs(rows: readonly (readonly [name: string, value: string])[], width = widthOf()): string {
  const left = Math.max(0, ...rows.map(([name]) => name.length)) + 2
  return rows
    .map(([name, value]) => `${name.padEnd(left)}${wrapped(value, width - left, ' '.repeat(left))}\n`)
    .join('')
}

/** Breaks a text between words. A word that is longer than a line, such as an address, stays whole. */
export function wrapped(text: string, width = widthOf(), indent = ''): string {
  return text
    .split('\n')
    .map((line) => wrappedLine(line, width, indent))
    .join('\n')
}

function wrappedLine(text: string, width: number, indent: string): string {
  const [, start = '', rest = ''] = /^( *)(.*)$/s.exec(text) ?? []
  const lines: string[] = []
  let line = start
  for (const word of rest.split(' ')) {
    const longer = line.trim() === '' ? line + word : `${line} ${word}`
    if (line.trim() !== '' && lengthOf(longer) > width) {
      lines.push(line)
      line = start + word
    } else line = longer
  }
  return [...lines, line].join(`\n${indent}`)
}

/** The columns that a text takes, without its colours. */
export const lengthOf = (text: string): number => [...stripVTControlCharacters(text)].length

/** A table with a header and no lines between its rows. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: [...head],
    chars: NO_LINES,
    style: { 'padding-left': 0, 'padding-right': 2, head: [] },
  })
  table.push(...rows.map((row) => [...row]))
  return `${trimmed(table.toString())}\n`
}

const trimmed = (text: string): string => text.replaceAll(/ +$/gm, '')

const NO_LINES = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((name) => [name, '']),
)

/** JSON for scripts: bigint values as decimal strings. */
export function json(value: unknown): string {
  return `${JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? each.toString() : each))}\n`
}

const LINES_SHOWN = 5

/** `line 3`, `lines 3, 4 and 7`, `lines 3, 4, 5, 6, 7 and 195 more`. */
export function linesText(lines: readonly number[]): string {
  const shown = lines.slice(0, LINES_SHOWN).map(String)
  const rest = lines.length - shown.length
  if (rest > 0) return `lines ${shown.join(', ')} and ${grouped(rest)} more`
  const last = shown.pop() ?? ''
  return shown.length === 0 ? `line ${last}` : `lines ${shown.join(', ')} and ${last}`
}

/** `1 line`, `2 lines`. */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${grouped(amount)} ${amount === 1 ? one : many}`
}

/** `20,100`. `toLocaleString` loads the data of all languages, which is a tenth of the memory of a dry run. */
export function grouped(whole: number | bigint | string): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ',')
}
