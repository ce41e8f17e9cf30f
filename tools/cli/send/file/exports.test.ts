import { CFB, utils, write } from '@e965/xlsx'
import { describe, expect, test } from 'vitest'
import { ANNA, BOB, ETHER, type Given, payoutIn, refusalIn, TOKENS } from './payout.fixture.js'

const USDC = TOKENS.USDC.address
const IN_USDC: Given = { tokens: [USDC] }
const MICRO = 1_000_000n

type Content = string | Uint8Array
type Payment = readonly [line: number, to: string, amount: bigint]

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
const HASH = `0x${'ab'.repeat(32)}`

/** An .xlsx with these rows; `formats` are number formats by cell. */
function sheet(
  rows: readonly (readonly unknown[])[],
  formats: Readonly<Record<string, string>> = {},
): Uint8Array {
  const page = utils.aoa_to_sheet(rows as unknown[][])
  for (const [at, format] of Object.entries(formats)) (page[at] as { z: string }).z = format
  const book = utils.book_new()
  utils.book_append_sheet(book, page, 'Payouts')
  return new Uint8Array(write(book, { type: 'buffer', bookType: 'xlsx', cellStyles: true }))
}

/** A flat table of LibreOffice as an .ods: what a cell shows stands beside its value. */
function libreOffice(type: string, value: string, seen: string): Uint8Array {
  const cell = (attributes: string, text: string) =>
    `<table:table-cell ${attributes}><text:p>${text}</text:p></table:table-cell>`
  const row = (...cells: string[]) => `<table:table-row>${cells.join('')}</table:table-row>`
  const text = 'office:value-type="string"'
  const spaces = ['office', 'table', 'text']
    .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
    .join(' ')
  const content = `<?xml version="1.0" encoding="UTF-8"?><office:document-content ${spaces}><office:body><office:spreadsheet><table:table table:name="Pay">${row(cell(text, 'Recipient'), cell(text, 'Amount (ETH)'))}${row(cell(text, ANNA), cell(`office:value-type="${type}" ${value}`, seen))}</table:table></office:spreadsheet></office:body></office:document-content>`
  return withContent(content)
}

/** The archive of an empty table, with other contents. */
function withContent(content: string): Uint8Array {
  const book = utils.book_new()
  utils.book_append_sheet(book, utils.aoa_to_sheet([['x']]), 'Pay')
  const archive = CFB.read(write(book, { type: 'buffer', bookType: 'ods' }), { type: 'buffer' })
  CFB.utils.cfb_add(archive, '/content.xml', Buffer.from(content))
  return new Uint8Array(CFB.write(archive, { fileType: 'zip', type: 'buffer' }))
}

type Paid = readonly [name: string, content: Content, pays: readonly Payment[], given?: Given]
type Refused = readonly [name: string, content: Content, message: string, given?: Given]

const PAID: readonly Paid[] = [
  [
    'Coinshift: names, labels and a column of symbols',
    `Name,Wallet Address,Token,Amount,Labels\nAnna,${ANNA},USDC,"1,200.50",Salary\nBob,${BOB},USDC,900,Salary\n`,
    [
      [2, ANNA, 1_200_500_000n],
      [3, BOB, 900n * MICRO],
    ],
    IN_USDC,
  ],
  [
    'Excel in German: Windows-1252, a decimal comma, a sum',
    latin1(
      `Empf\xe4nger;Betrag (ETH);Notiz\r\n${ANNA};1.234,50;M\xfcller\r\n${BOB};0,5;\r\nSumme;1.235,00;\r\n`,
    ),
    [
      [2, ANNA, (12_345n * ETHER) / 10n],
      [3, BOB, ETHER / 2n],
    ],
  ],
  [
    'Excel in French: narrow blanks between thousands, a general total',
    `Bénéficiaire;Montant (ETH)\n${ANNA};1\u202f234,50\n${BOB};12\u2009000\nTotal général;13\u00a0234,50\n`,
    [
      [2, ANNA, (12_345n * ETHER) / 10n],
      [3, BOB, 12_000n * ETHER],
    ],
  ],
  [
    'Excel in India: lakhs, and an amount that only they explain',
    `Recipient,Amount (USDC)\n${ANNA},"1,00,000.50"\n${BOB},"12,345"\nTotal,"1,12,345.50"\n`,
    [
      [2, ANNA, 100_000_500_000n],
      [3, BOB, 12_345n * MICRO],
    ],
    IN_USDC,
  ],
  [
    'cells that a program writes as formulas to keep them as text',
    `Recipient,Amount (ETH)\n="${ANNA}",="1.5"\n"=""${BOB}""","=""2"""\n`,
    [
      [2, ANNA, (15n * ETHER) / 10n],
      [3, BOB, 2n * ETHER],
    ],
  ],
  ...['Totaal', 'Razem', 'Total geral:', 'Итого:', '合計', '总计', 'कुल', 'Sub-total (2 lines)'].map(
    (label): Paid => [
      `a sum that is called ${label}`,
      `Recipient,Amount (ETH)\n${ANNA},1\n${BOB},2\n${label},3\n`,
      [
        [2, ANNA, ETHER],
        [3, BOB, 2n * ETHER],
      ],
    ],
  ),
  [
    'LibreOffice: a currency and a comma, as the cell shows them',
    libreOffice('currency', 'office:currency="ETH" office:value="1250.5"', '1.250,50 ETH'),
    [[2, ANNA, (12_505n * ETHER) / 10n]],
  ],
]

const REFUSED: readonly Refused[] = [
  [
    'an error value in place of an amount, in the first column',
    `Amount (ETH),Recipient\n#VALUE!,${ANNA}\n1,${BOB}\n`,
    'line 2 begins with "#VALUE!", an error value of a spreadsheet: correct the formula there, and save the file again',
  ],
  [
    'an error value in place of a recipient',
    `Recipient,Amount (ETH)\n#N/A,1\n${BOB},2\n`,
    'line 2 begins with "#N/A", an error value of a spreadsheet',
  ],
  [
    'an error value of Excel in German',
    `Betrag (ETH);Empfänger\n#NV;${ANNA}\n1;${BOB}\n`,
    'line 2 begins with "#NV", an error value of a spreadsheet',
  ],
  [
    'a line that has a transaction already',
    `Recipient,Amount (ETH),Tx hash\n${ANNA},1,\n${BOB},2,${HASH}\n`,
    'line 3 has a transaction hash in the column "Tx hash": delete the lines that were paid, or say --columns "note=Tx hash"',
  ],
  [
    'amounts in thousands',
    `Recipient,Amount (k USDC)\n${ANNA},12.5\n`,
    'line 1 names the amount "Amount (k USDC)": write the amounts in full, and the name without "k"',
    IN_USDC,
  ],
  ["amounts in '000", `Recipient,"Amount ('000 USDC)"\n${ANNA},12.5\n`, `the name without "'000"`, IN_USDC],
  ['amounts in cents', `Recipient,Amount (USDC cents)\n${ANNA},1250\n`, 'the name without "cents"', IN_USDC],
  ['shares', `Recipient,Amount (%)\n${ANNA},50\n`, 'the name without "%"', { unit: 'ether' }],
  [
    'an amount with the sign of dollars',
    `Recipient,Amount (USDC)\n${ANNA},"$1,200.00"\n`,
    'line 2 "$1,200.00" has the sign of a national currency: write the amount with the unit that is paid (column "Amount (USDC)")',
    IN_USDC,
  ],
  [
    'a credit of accountants',
    `Recipient,Amount (USDC)\n${ANNA},12.50 CR\n`,
    'line 2 "12.50 CR": "CR" is no unit here: USDC, tokens, base (column "Amount (USDC)")',
    IN_USDC,
  ],
  [
    'the burn address',
    'Recipient,Amount (ETH)\n0x000000000000000000000000000000000000dEaD,1\n',
    'line 2 pays to 0x000000000000000000000000000000000000dEaD, which belongs to nobody and cannot return it',
  ],
  ...['0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE', `0x${'f'.repeat(40)}`, `0x${'0'.repeat(37)}100`].map(
    (to) =>
      [
        `the stand-in or precompiled ${to}`,
        `Recipient,Amount (ETH)\n${to},1\n`,
        'which belongs to nobody',
      ] as const,
  ),
  [
    'a precompiled contract',
    'Recipient,Amount (ETH)\n0x0000000000000000000000000000000000000004,1\n',
    'which belongs to nobody',
  ],
  [
    'an address with a name beside it',
    `Recipient,Amount (ETH)\nAnna <${ANNA}>,1\n`,
    `"Anna <${ANNA}>" is no address alone: write the address without the rest (column "Recipient")`,
  ],
  [
    'two addresses in a cell',
    `Recipient,Amount (ETH)\n"${ANNA}, ${BOB}",1\n`,
    'it has two, write a line for each',
  ],
  [
    'a shortened address',
    'Recipient,Amount (ETH)\n0x7099…79C8,1\n',
    'line 2 "0x7099…79C8" is no address, but the ends of one: copy the whole address',
  ],
  [
    'an address with the letter O',
    `Recipient,Amount (ETH)\nO${ANNA.slice(1)},1\n`,
    'it has the letter O in place of the digit 0',
  ],
  [
    'a footer of a printed page',
    `Recipient,Amount (ETH)\n${ANNA},1\nPage 1 of 1,\n`,
    'line 3 "Page 1 of 1" is no address: write 0x and 40 hexadecimal digits, or an ENS name; delete the line if it is no payment',
  ],
  [
    'one column',
    `Recipient\n${ANNA}\n`,
    'line 1 has 1 cell: write a recipient and an amount on each line, for example "0x… 1.5 ether"',
  ],
  [
    'a number with the format of a German date',
    sheet(
      [
        ['Recipient', 'Amount (ETH)'],
        [ANNA, 46143],
      ],
      { B2: 'dd.mm.yyyy' },
    ),
    'line 2 holds a date or a time ("46143"), which spreadsheets make of amounts: format the cell as text, and type the amount again (column "Amount (ETH)")',
  ],
  [
    'a number with the format of a time',
    sheet(
      [
        ['Recipient', 'Amount (ETH)'],
        [ANNA, 0.5],
      ],
      { B2: 'hh:mm' },
    ),
    'line 2 holds a date or a time ("12:00")',
  ],
  [
    'a negative number of accountants',
    sheet(
      [
        ['Recipient', 'Amount (USDC)'],
        [ANNA, -5],
      ],
      { B2: '_($* #,##0.00_);_($* (#,##0.00)' },
    ),
    'line 2 "-5" is negative: it cannot be paid (column "Amount (USDC)")',
    IN_USDC,
  ],
  [
    'a number that is shown in thousands',
    sheet(
      [
        ['Recipient', 'Amount (USDC)'],
        [ANNA, 1_250_500],
      ],
      { B2: '#,##0,' },
    ),
    'line 2 holds the number 1250500 and shows 1,251: round it in the sheet, or show all of its digits (column "Amount (USDC)")',
    IN_USDC,
  ],
  [
    'LibreOffice: a percentage',
    libreOffice('percentage', 'office:value="0.5"', '50%'),
    'line 2 holds the number 0.5 and shows 50%: a percentage is no amount',
  ],
  [
    'LibreOffice: a number that is shown rounded',
    libreOffice('float', 'office:value="0.123456"', '0,12'),
    'line 2 holds the number 0.123456 and shows 0,12: round it in the sheet, or show all of its digits',
  ],
  [
    'LibreOffice: a date',
    libreOffice('date', 'office:date-value="2026-05-01"', '01.05.26'),
    'line 2 holds a date or a time ("01.05.26")',
  ],
  [
    'LibreOffice: euros',
    libreOffice('currency', 'office:currency="EUR" office:value="12.5"', '12,50 €'),
    'line 2 "12.5 €" has the sign of a national currency',
  ],
]

describe('a file as another program exports it', () => {
  test.each(PAID.map(([name, content, pays, given]) => ({ name, content, pays, given })))(
    'is paid exactly: $name',
    async ({ content, pays, given }) => {
      const { rows } = await payoutIn(content, given)
      expect(rows.map(({ line, to, amount }) => [line, to, amount])).toEqual(pays)
    },
  )

  test.each(REFUSED.map(([name, content, message, given]) => ({ name, content, message, given })))(
    'is refused with its line, its column, its value and the remedy: $name',
    async ({ content, message, given }) => {
      expect(await refusalIn(content, given)).toContain(message)
    },
  )
})
