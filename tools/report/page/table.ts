import { number } from '../model/words.js'
import { button, type Child, element } from './dom.js'

export type Column<row> = {
  readonly name: string
  /** `number` aligns right, `time` does not wrap, `name` wraps anywhere, `wide` is left out on a phone. */
  readonly class: string
  /** Sort key of the column. */
  readonly by?: (row: row) => number | string
  readonly cell: (row: row) => Child
}

export type TableOptions<row> = {
  readonly caption: string
  readonly columns: readonly Column<row>[]
  readonly rows: readonly row[]
  /** Rows that are shown at first. */
  readonly first?: number
}

const ROWS_AT_ONCE = 100

/** A table that shows its rows in portions, and sorts by a column. */
export function table<row>({ caption, columns, rows, first = ROWS_AT_ONCE }: TableOptions<row>): Node {
  const place = element('div')
  let sorted: { readonly column: number; readonly isUp: boolean } | undefined
  let count = first

  function draw(): void {
    const by = columns[sorted?.column ?? -1]?.by
    const direction = sorted?.isUp ? 1 : -1
    const ordered = by === undefined ? rows : rows.toSorted((a, b) => compare(by(a), by(b)) * direction)
    const lines = ordered
      .slice(0, count)
      .map((row) =>
        element(
          'tr',
          {},
          ...columns.map((column) => element('td', { class: column.class }, column.cell(row))),
        ),
      )
    place.replaceChildren(
      element(
        'div',
        { class: 'scroll' },
        element(
          'table',
          { 'aria-label': caption },
          element('thead', {}, element('tr', {}, ...columns.map(head))),
          element('tbody', {}, ...lines),
        ),
      ),
      ...more(),
    )
  }

  function head({ name, class: of, by }: Column<row>, index: number): Node {
    if (by === undefined || rows.length < 2) return element('th', { scope: 'col', class: of }, name)
    const isSorted = sorted?.column === index
    const sort = button(name, '', () => {
      sorted = { column: index, isUp: isSorted ? !sorted?.isUp : true }
      draw()
      place.querySelectorAll('th')[index]?.querySelector('button')?.focus()
    })
    const order = isSorted ? (sorted?.isUp ? 'ascending' : 'descending') : 'none'
    return element('th', { scope: 'col', class: of, 'aria-sort': order }, sort)
  }

  function more(): Node[] {
    if (rows.length <= count) return []
    const show = button(`Show ${number(Math.min(ROWS_AT_ONCE, rows.length - count))} more`, '', () => {
      const next = count
      count += ROWS_AT_ONCE
      draw()
      const row = place.querySelectorAll<HTMLElement>('tbody tr')[next]
      row?.querySelector<HTMLElement>('button, a')?.focus()
    })
    const shown = element(
      'span',
      { class: 'count' },
      ` The first ${number(count)} of ${number(rows.length)} rows are shown.`,
    )
    return [element('p', {}, show, shown)]
  }

  draw()
  return place
}

function compare(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
}
