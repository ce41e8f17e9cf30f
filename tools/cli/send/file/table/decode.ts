import { Unreadable } from './table.js'

export type Decoded = { readonly text: string; readonly encoding: string }

/** Share of zero bytes at odd or even places from which a text without a mark counts as UTF-16. */
const UTF16_SHARE = 0.3
const SAMPLE = 4_096

/**
 * The text of a file. Windows-1252 is assumed for bytes that are not UTF-8, because spreadsheets write it: it
 * decides on accents in remarks only, as addresses and amounts are ASCII.
 * @throws Unreadable for a file that is no text
 */
export function decode(bytes: Uint8Array): Decoded {
  const [a, b, c] = bytes
  if (a === 0xff && b === 0xfe) return utf16(bytes, 'utf-16le', 'UTF-16')
  if (a === 0xfe && b === 0xff) return utf16(bytes, 'utf-16be', 'UTF-16')
  if (a === 0xef && b === 0xbb && c === 0xbf) {
    const text = strict(bytes)
    if (text === undefined) throw new Unreadable('says that it is UTF-8, and is not: save it again as UTF-8.')
    return checked(text, 'UTF-8 with a byte-order mark')
  }
  const zeros = zerosOf(bytes.subarray(0, SAMPLE))
  if (zeros.odd > UTF16_SHARE) return utf16(bytes, 'utf-16le', 'UTF-16 without a byte-order mark')
  if (zeros.even > UTF16_SHARE) return utf16(bytes, 'utf-16be', 'UTF-16 without a byte-order mark')
  const text = strict(bytes)
  if (text !== undefined) return checked(text, 'UTF-8')
  return checked(windows1252(bytes), 'Windows-1252')
}

// TextDecoder of some versions of Node reads these bytes as control characters.
const HIGH = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'
const HIGH_FROM = 0x80

function windows1252(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1')
  return text.replace(/[\u0080-\u009f]/g, (each) => HIGH[each.charCodeAt(0) - HIGH_FROM] ?? each)
}

function utf16(bytes: Uint8Array, label: string, encoding: string): Decoded {
  try {
    return checked(new TextDecoder(label, { fatal: true }).decode(bytes), encoding)
  } catch (error) {
    if (error instanceof Unreadable) throw error
    throw new Unreadable('is cut off or mixed UTF-16: save it again as UTF-8.')
  }
}

function strict(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function checked(text: string, encoding: string): Decoded {
  if (text.includes('\0')) throw new Unreadable('is no text and no spreadsheet: it has zero bytes.')
  // One kind of line end: the lines of old Macs and of mixed files are counted as editors count them.
  return { text: text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text, encoding }
}

function zerosOf(bytes: Uint8Array): { readonly odd: number; readonly even: number } {
  const counts = [0, 0]
  for (const [index, byte] of bytes.entries())
    if (byte === 0) counts[index % 2] = (counts[index % 2] ?? 0) + 1
  const half = Math.max(1, bytes.length / 2)
  return { even: (counts[0] ?? 0) / half, odd: (counts[1] ?? 0) / half }
}
