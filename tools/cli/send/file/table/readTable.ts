import { binaryKindOf, SAVE } from './binary.js'
import { decode } from './decode.js'
import { readDelimited } from './delimited.js'
import { isJson, readJson } from './json.js'
import { isSheet, readSheet } from './sheet.js'
import { type Source, startOf } from './source.js'
import { type Table, Unreadable } from './table.js'

/**
 * Reads a table by the content of the file, not by its name.
 * @throws Unreadable with a reason for the user
 */
export async function readTable(source: Source, sheet: string | undefined): Promise<Table> {
  const bytes = startOf(source)
  if (isSheet(bytes)) return readSheet(source.whole(), sheet)
  const binary = binaryKindOf(bytes)
  if (binary !== undefined) throw new Unreadable(`is no text, but ${binary}: ${SAVE}.`)
  if (sheet !== undefined) throw new Unreadable('is no spreadsheet: leave out --sheet.')
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 200)).trimStart()
  if (/^<(?:!doctype|html|table|\?xml)/i.test(start))
    throw new Unreadable('is a web page or XML: save the table as .csv or .xlsx.')
  const { text, encoding } = decode(source)
  return isJson(text.start) ? readJson(text, encoding) : readDelimited(text, encoding)
}
