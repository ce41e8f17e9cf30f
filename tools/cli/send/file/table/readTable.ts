import { decode } from './decode.js'
import { readDelimited } from './delimited.js'
import { isJson, readJson } from './json.js'
import { isSheet, readSheet } from './sheet.js'
import { type Table, Unreadable } from './table.js'

/**
 * Reads a table by the content of the file, not by its name.
 * @throws Unreadable with a reason for the user
 */
export async function readTable(bytes: Uint8Array, sheet: string | undefined): Promise<Table> {
  if (isSheet(bytes)) return readSheet(bytes, sheet)
  if (sheet !== undefined) throw new Unreadable('is no spreadsheet: leave out --sheet.')
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 200)).trimStart()
  if (start.startsWith('%PDF') || start.startsWith('\u001f\u008b'))
    throw new Unreadable('is a PDF or an archive: save the table as .csv or .xlsx.')
  if (/^<(?:!doctype|html|table|\?xml)/i.test(start))
    throw new Unreadable('is a web page or XML: save the table as .csv or .xlsx.')
  const { text, encoding } = decode(bytes)
  return isJson(text) ? readJson(text, encoding) : readDelimited(text, encoding)
}
