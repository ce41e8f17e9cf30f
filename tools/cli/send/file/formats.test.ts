import { utils, write } from '@e965/xlsx'
import fc from 'fast-check'
import { type Address, checksumAddress, formatUnits, type Hex } from 'viem'
import { expect, test } from 'vitest'
import { type Given, payoutIn } from './payout.fixture.js'

/** One payment in gwei, so that a double has all of its digits. */
type Payment = { readonly to: Address; readonly gwei: number; readonly note: string }

const NOTE = fc.string({
  unit: fc.constantFrom(
    'a',
    'Z',
    '7',
    ' ',
    ',',
    ';',
    '|',
    '\t',
    '"',
    "'",
    '#',
    '\n',
    'ü',
    '“',
    '€',
    '.',
    '=',
  ),
  maxLength: 12,
})
const PAYMENT: fc.Arbitrary<Payment> = fc.record({
  to: fc
    .uint8Array({ minLength: 20, maxLength: 20 })
    .filter((bytes) => bytes.some((byte) => byte > 0))
    .map((bytes) => checksumAddress(`0x${Buffer.from(bytes).toString('hex')}` as Hex)),
  gwei: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  note: NOTE,
})

type Format = (payments: readonly Payment[]) => {
  readonly content: string | Uint8Array
  readonly given?: Given
}

const HEAD = ['Wallet', 'Amount (ETH)', 'Memo']
const ether = ({ gwei }: Payment) => formatUnits(BigInt(gwei), 9)
const POINT: Given = { decimal: 'point' }

/** As RFC 4180 has it. Excel and others quote only the cells that need it. */
function csv(separator: string, lineEnd: string, always: boolean, decimal: '.' | ','): Format {
  const needed = new RegExp(`[${separator === '|' ? '\\|' : separator}"“”\r\n]|^\\s|\\s$`)
  const cell = (text: string) => (always || needed.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return (payments) => {
    const rows = payments.map((each) => [each.to, ether(each).replace('.', decimal), each.note])
    const lines = [HEAD, ...rows].map((row) => row.map(cell).join(separator))
    return { content: lines.join(lineEnd) + lineEnd, given: { decimal: decimal === '.' ? 'point' : 'comma' } }
  }
}

const encoded =
  (format: Format, encode: (text: string) => Uint8Array): Format =>
  (payments) => {
    const { content, given } = format(payments)
    return { content: encode(content as string), ...(given && { given }) }
  }

function spreadsheet(bookType: 'xlsx' | 'ods'): Format {
  return (payments) => {
    const book = utils.book_new()
    const rows = payments.map((each) => [each.to, Number(ether(each)), each.note])
    utils.book_append_sheet(book, utils.aoa_to_sheet([HEAD, ...rows]), 'Pay')
    return { content: new Uint8Array(write(book, { type: 'buffer', bookType }) as Buffer) }
  }
}

const objects = (payments: readonly Payment[]) =>
  payments.map((each) => ({ Wallet: each.to, 'Amount (ETH)': ether(each), Memo: each.note }))

const FORMATS: Readonly<Record<string, Format>> = {
  commas: csv(',', '\n', false, '.'),
  'commas and quotes': csv(',', '\r\n', true, '.'),
  'commas, decimal commas': csv(',', '\n', false, ','),
  semicolons: csv(';', '\r\n', false, ','),
  tabs: csv('\t', '\n', false, '.'),
  'vertical bars': csv('|', '\r', false, '.'),
  'UTF-8 with a mark': encoded(csv(';', '\n', false, ','), (text) => Buffer.from(`\ufeff${text}`)),
  'UTF-16': encoded(csv('\t', '\r\n', false, ','), (text) => Buffer.from(`\ufeff${text}`, 'utf16le')),
  'UTF-16 of the other byte order': encoded(csv('\t', '\r\n', false, ','), (text) =>
    Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
  ),
  xlsx: spreadsheet('xlsx'),
  ods: spreadsheet('ods'),
  'a JSON array': (payments) => ({ content: JSON.stringify(objects(payments)), given: POINT }),
  'indented JSON': (payments) => ({ content: JSON.stringify(objects(payments), null, 2), given: POINT }),
  'JSON Lines': (payments) => ({
    content: objects(payments)
      .map((each) => JSON.stringify(each))
      .join('\n'),
    given: POINT,
  }),
}

test.each(Object.entries(FORMATS))(
  'any payments that are written as %s are read as the same payments',
  async (_, format) => {
    await fc.assert(
      fc.asyncProperty(fc.array(PAYMENT, { minLength: 1, maxLength: 8 }), async (payments) => {
        const { content, given } = format(payments)
        const { rows } = await payoutIn(content, given)
        expect(rows.map(({ to, amount }) => [to, amount])).toEqual(
          payments.map(({ to, gwei }) => [to, BigInt(gwei) * 10n ** 9n]),
        )
        // Spreadsheets in XML keep one blank of several.
        const blanks = (text: string) => text.replace(/\s+/g, ' ').trim()
        expect(rows.map(({ cells }) => blanks(cells[2] ?? ''))).toEqual(
          payments.map(({ note }) => blanks(note)),
        )
      }),
      { numRuns: 60 },
    )
  },
)

test.each([' ', '=', ',', ';', '\t', ' , '])(
  'any list of pairs with %j between them is read as its payments',
  async (between) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(PAYMENT, { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        async (payments, first) => {
          const pairs = payments.map((each) => (first ? [each.to, ether(each)] : [ether(each), each.to]))
          const content = pairs.map((pair) => pair.join(between)).join('\n')
          const { rows } = await payoutIn(content, { unit: 'ether', decimal: 'point' })
          expect(rows.map(({ to, amount }) => [to, amount])).toEqual(
            payments.map(({ to, gwei }) => [to, BigInt(gwei) * 10n ** 9n]),
          )
        },
      ),
      { numRuns: 60 },
    )
  },
)

test('any text is paid or refused, and never breaks the reader', async () => {
  const piece = fc.constantFrom(
    'to',
    'amount',
    ',',
    ';',
    '\n',
    '"',
    '#',
    '0x',
    '1.5',
    ' ',
    '\t',
    '{',
    '[',
    ':',
    'ether',
    '|',
    '=',
    '“',
    '-',
    'e9',
    `0x${'ab'.repeat(20)}`,
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
      const error = await payoutIn(pieces.join('')).then(
        () => undefined,
        (thrown: Error) => thrown,
      )
      expect(error?.name ?? 'Refusal').toBe('Refusal')
    }),
    { numRuns: 500 },
  )
})
