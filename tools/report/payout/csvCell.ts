/**
 * A cell that a spreadsheet would run as a formula, also after blanks, or that already has the mark of such a cell.
 * The wide forms are those of East Asian keyboards.
 */
const FORMULA = /^'*(?:[\t\r\n\0]|[\s\ufeff]*[=+\-@＝＋－＠])/

// Readers end a cell at a NUL. The symbol for it is written twice where a cell has it already.
const NUL = /[\0␀]/g
const WRITTEN_NUL = /␀([0␀])/g

/** A cell of a CSV file (RFC 4180), quoted if necessary, that no spreadsheet runs as a formula. */
export function csvCell(value: unknown): string {
  if (value === undefined) return ''
  const text = String(value)
  const marked = FORMULA.test(text) ? `'${text}` : text
  const safe = marked.replaceAll(NUL, (each) => (each === '\0' ? '␀0' : '␀␀'))
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The text that `csvCell` was given, from the cell as a CSV reader returns it. */
export function uncell(cell: string): string {
  const text = cell.replaceAll(WRITTEN_NUL, (_, each) => (each === '0' ? '\0' : '␀'))
  return FORMULA.test(text) && text.startsWith("'") ? text.slice(1) : text
}
