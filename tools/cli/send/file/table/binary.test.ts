import { closeSync, openSync, readSync } from 'node:fs'
import { execPath } from 'node:process'
import { gzipSync } from 'node:zlib'
import { utils, write } from '@e965/xlsx'
import { expect, test } from 'vitest'
import { refusalIn } from '../payout.fixture.js'

/** The first bytes of the program that runs this test. */
function program(): Uint8Array {
  const file = openSync(execPath, 'r')
  const bytes = Buffer.alloc(100_000)
  readSync(file, bytes)
  closeSync(file)
  return bytes
}

/** A ZIP archive with one stored file. */
function zip(name: string, content: string): Uint8Array {
  const [title, data] = [Buffer.from(name), Buffer.from(content)]
  const head = Buffer.alloc(30)
  head.write('PK\x03\x04', 'latin1')
  head.writeUInt32LE(data.length, 18)
  head.writeUInt32LE(data.length, 22)
  head.writeUInt16LE(title.length, 26)
  const entry = Buffer.alloc(46)
  entry.write('PK\x01\x02', 'latin1')
  entry.writeUInt32LE(data.length, 20)
  entry.writeUInt32LE(data.length, 24)
  entry.writeUInt16LE(title.length, 28)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(entry.length + title.length, 12)
  end.writeUInt32LE(head.length + title.length + data.length, 16)
  return Buffer.concat([head, title, data, entry, title, end])
}

const bytes = (start: string, filled = 5_000) => Buffer.concat([Buffer.from(start, 'latin1'), noise(filled)])
/** Every other byte is zero, as in UTF-16. */
const noise = (size: number) =>
  Buffer.from(Array.from({ length: size }, (_, at) => (at % 2 ? 0 : (at * 37) % 256)))

test.each<[what: string, content: Uint8Array, is: string]>([
  ['a PNG', bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), 'is no text, but an image (PNG)'],
  ['a JPEG', bytes('\xff\xd8\xff\xe0\0\x10JFIF'), 'is no text, but an image (JPEG)'],
  ['a WebP', bytes('RIFF\x10\0\0\0WEBPVP8 '), 'is no text, but an image (WebP)'],
  ['a photo of a phone', bytes('\0\0\0\x18ftypheic'), 'is no text, but an image (HEIC)'],
  ['a PDF', bytes('%PDF-1.7\n'), 'is no text, but a PDF'],
  ['a program', program(), 'is no text, but a program'],
  ['a program of Windows', bytes('MZ\x90\0'), 'is no text, but a program'],
  ['a database', bytes('SQLite format 3\0'), 'is no text, but a database (SQLite)'],
  ['gzip', gzipSync('to,amount\n'), 'is no text, but an archive (gzip)'],
  [
    'a ZIP archive of a table',
    zip('pay.csv', 'to,amount\n'),
    'is no spreadsheet that can be read, but a ZIP archive',
  ],
  [
    'a document of Word',
    zip('word/document.xml', '<w:document/>'),
    'is no spreadsheet that can be read, but a ZIP archive',
  ],
  [
    'half a ZIP archive',
    zip('pay.csv', 'to,amount\n').subarray(0, 40),
    'is no spreadsheet that can be read, but a ZIP archive',
  ],
  ['other bytes with many zeros', noise(5_000), 'is no text'],
  ['other bytes with a zero', Buffer.concat([Buffer.alloc(900, 'x'), Buffer.alloc(2)]), 'is no text'],
])('%s is called what it is, and the refusal says how to save the table', async (_, content, is) => {
  const message = await refusalIn(content)
  expect(message).toContain(`pay.csv ${is}`)
  expect(message).toContain('save the table as .csv or .xlsx, and give that file.')
  expect(message).not.toContain('UTF-16')
})

test('a spreadsheet is still one', async () => {
  const book = utils.book_new(utils.aoa_to_sheet([['to', 'amount']]), 'Pay')
  expect(await refusalIn(write(book, { type: 'buffer', bookType: 'xlsx' }))).toBe(
    'pay.csv has no lines to send.',
  )
})
