import { isUtf8 } from 'node:buffer'
import { SAVE } from './binary.js'
import { type Source, startOf } from './source.js'
import { Unreadable } from './table.js'
import { type Text, textOf } from './text.js'

export type Decoded = { readonly text: Text; readonly encoding: string }

/** Share of zero bytes at odd or even places from which a text without a mark counts as UTF-16. */
const UTF16_SHARE = 0.3
const SAMPLE = 4_096

/**
 * The text of a file. Windows-1252 is assumed for bytes that are not UTF-8, because spreadsheets write it: it
 * decides on accents in remarks only, as addresses and amounts are ASCII.
 * @throws Unreadable for a file that is no text
 */
export function decode(source: Source): Decoded {
  const start = startOf(source)
  const [a, b, c] = start
  if (a === 0xff && b === 0xfe) return utf16(source, 'utf-16le', 'UTF-16')
  if (a === 0xfe && b === 0xff) return utf16(source, 'utf-16be', 'UTF-16')
  const utf8 = () => fromUtf8(source)
  if (a === 0xef && b === 0xbb && c === 0xbf) {
    if (isValid(utf8)) return { text: textOf(utf8), encoding: 'UTF-8 with a byte-order mark' }
    throw new Unreadable('says that it is UTF-8, and is not: save it again as UTF-8.')
  }
  const zeros = zerosOf(start.subarray(0, SAMPLE))
  if (zeros.odd > UTF16_SHARE) return unmarked(source, 'utf-16le')
  if (zeros.even > UTF16_SHARE) return unmarked(source, 'utf-16be')
  if (isValid(utf8)) return { text: textOf(utf8), encoding: 'UTF-8' }
  const windows = () => windows1252(source)
  isValid(windows)
  return { text: textOf(windows), encoding: 'Windows-1252' }
}

// TextDecoder of some versions of Node reads these bytes as control characters.
const HIGH = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'
const HIGH_FROM = 0x80

function* windows1252(source: Source): Generator<string> {
  for (const chunk of source.chunks()) {
    const text = Buffer.from(chunk).toString('latin1')
    yield text.replace(/[\u0080-\u009f]/g, (each) => HIGH[each.charCodeAt(0) - HIGH_FROM] ?? each)
  }
}

function utf16(source: Source, label: string, encoding: string): Decoded {
  const parts = () => strictly(source, label)
  if (isValid(parts)) return { text: textOf(parts), encoding }
  throw new Unreadable('is cut off or mixed UTF-16: save it again as UTF-8.')
}

/**
 * Decodes a file with many zero bytes: UTF-16, or a binary file, which has control characters if it is read as
 * UTF-16.
 */
function unmarked(source: Source, label: string): Decoded {
  const parts = () => strictly(source, label)
  const isText = isValid(parts) && !hasControls(textOf(parts).start)
  if (isText) return { text: textOf(parts), encoding: 'UTF-16 without a byte-order mark' }
  throw new Unreadable(`is no text: ${SAVE}.`)
}

// Control characters that text may contain. The last one, 0x1A, marks the end of a file of DOS.
const IN_TEXT = '\t\n\v\f\r\x1a'
const hasControls = (text: string) => [...text].some((each) => each < ' ' && !IN_TEXT.includes(each))

/** @throws TypeError at bytes that are not of this encoding */
function* strictly(source: Source, label: string): Generator<string> {
  const decoder = new TextDecoder(label, { fatal: true })
  for (const chunk of source.chunks()) yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}

/**
 * Decodes like TextDecoder, into strings that need one byte for an ASCII character instead of two. @throws TypeError
 * as TextDecoder
 */
function* fromUtf8(source: Source): Generator<string> {
  let [left, isFirst] = [Buffer.alloc(0), true]
  for (const chunk of source.chunks()) {
    const own = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    const bytes = left.length === 0 ? own : Buffer.concat([left, own])
    const end = endOfCharacters(bytes)
    // A copy, because the next chunk may take the place of this one.
    left = Buffer.from(bytes.subarray(end))
    const text = utf8Text(bytes.subarray(0, end))
    yield isFirst && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
    isFirst = false
  }
  yield utf8Text(left)
}

const BYTE_ORDER_MARK = '\ufeff'

function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new TypeError('no UTF-8')
  return bytes.toString('utf8')
}

/** The end of the last complete character. */
function endOfCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) break
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0
    if (size > 0) return size > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** @throws Unreadable if it is no text at all */
function isValid(parts: () => Iterable<string>): boolean {
  try {
    for (const part of parts())
      if (part.includes('\0')) throw new Unreadable(`is no text, it has zero bytes: ${SAVE}.`)
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

function zerosOf(bytes: Uint8Array): { readonly odd: number; readonly even: number } {
  const counts = [0, 0]
  for (const [index, byte] of bytes.entries())
    if (byte === 0) counts[index % 2] = (counts[index % 2] ?? 0) + 1
  const half = Math.max(1, bytes.length / 2)
  return { even: (counts[0] ?? 0) / half, odd: (counts[1] ?? 0) / half }
}
