import { NumberList } from './numberList.js'
import { Records } from './records.js'
import type { TableRow } from './table.js'

/** The rows of a file in a compact form. Each pass creates new row objects, which do not change later. */
export class TableRows implements Iterable<TableRow> {
  readonly #cells = new Records()
  readonly #lines = new NumberList()
  #isCounted = false
  /** The columns with numbers, by index. Most rows have the same ones, and share the set. */
  readonly #numbers: (ReadonlySet<number> | undefined)[] = []
  readonly #sets = new Map<string, ReadonlySet<number>>()
  readonly #inexact = new Map<number, ReadonlyMap<number, string>>()

  static of(rows: Iterable<TableRow>): TableRows {
    const all = new TableRows()
    for (const row of rows) all.add(row)
    return all
  }

  get length(): number {
    return this.#lines.length
  }

  add({ line, cells, numbers, inexact }: TableRow): void {
    const index = this.length
    this.#lines.push(line)
    this.#cells.add(cells)
    if (numbers !== undefined) this.#numbers[index] = this.#shared(numbers)
    if (inexact !== undefined) this.#inexact.set(index, inexact)
  }

  #shared(numbers: ReadonlySet<number>): ReadonlySet<number> {
    const key = [...numbers].join()
    const known = this.#sets.get(key)
    if (known === undefined) this.#sets.set(key, numbers)
    return known ?? numbers
  }

  lineAt(index: number): number {
    return this.#isCounted ? index + 1 : this.#lines.at(index)
  }

  cellsAt(index: number): readonly string[] {
    return this.#cells.at(index)
  }

  at(index: number): TableRow | undefined {
    if (index < 0 || index >= this.length) return undefined
    return {
      line: this.lineAt(index),
      cells: this.cellsAt(index),
      numbers: this.#numbers[index],
      inexact: this.#inexact.get(index),
    }
  }

  last(): TableRow | undefined {
    return this.at(this.length - 1)
  }

  [Symbol.iterator](): Iterator<TableRow> {
    return this.first(this.length)
  }

  *first(count: number): Generator<TableRow> {
    for (let index = 0; index < count; index++) yield this.at(index) as TableRow
  }

  find(test: (row: TableRow) => boolean): TableRow | undefined {
    for (const row of this) if (test(row)) return row
    return undefined
  }

  /** Replaces the numbers of the lines by those of the rows, from 1. */
  countLines(): void {
    this.#isCounted = true
  }
}
