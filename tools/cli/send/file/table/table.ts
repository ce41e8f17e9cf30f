import type { TableRows } from './tableRows.js'

/** One line of a file: a record of text, an object, or a row of a sheet. */
export type TableRow = {
  /** The number of the line in a text file, otherwise of the row or of the object. */
  readonly line: number
  readonly cells: readonly string[]
  /** The columns whose cells are numbers of the format itself, which have no locale. */
  readonly numbers?: ReadonlySet<number> | undefined
  /** The columns whose cells do not show the number that they hold, with a message about it. */
  readonly inexact?: ReadonlyMap<number, string> | undefined
}

export type Table = {
  /** For display, for example `CSV with semicolons, UTF-8`. */
  readonly format: string
  /** The names of the columns; undefined if the first line is a payment already. */
  readonly head: TableRow | undefined
  readonly rows: TableRows
  readonly problems: readonly Problem[]
  /** Lines that begin with # and may be comments, and that were read as rows. */
  readonly hashes: readonly number[]
  /** Lines that have no payment by the rules of the format, for display: `2 comment lines`. */
  readonly leftOut: readonly string[]
  /** The format writes fractions with a point: its texts are not ambiguous. */
  readonly pointed: boolean
}

/** The message begins with a verb, because the line is its subject. */
export type Problem = { readonly line: number; readonly message: string }

/** A file that cannot be read as a whole. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}
