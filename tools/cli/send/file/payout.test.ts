import { describe, expect, test } from 'vitest'
import { ANNA, BOB, ETHER, type Given, MAINNET, payoutIn, refusalIn, TOKENS } from './payout.fixture.js'

const USDC = TOKENS.USDC.address
const DAI = TOKENS.DAI.address
const utf16 = (text: string, swap: boolean) => {
  const bytes = Buffer.from(text, 'utf16le')
  return swap ? bytes.swap16() : bytes
}
const TABS = `to\tamount\n${ANNA}\t1 ether\n`

/** Amount and recipient of each payment, with the symbol of a token. */
type Payments = readonly (readonly [amount: bigint, to: string, symbol?: string])[]
const ONE: Payments = [[ETHER, ANNA]]
const TWO: Payments = [
  [ETHER, ANNA],
  [2n * ETHER, BOB],
]
const HALVES: Payments = [[(15n * ETHER) / 10n, ANNA]]

type Paid = readonly [title: string, content: string | Uint8Array, payments: Payments, given?: Given]

const PAID: readonly Paid[] = [
  ['UTF-16 of the other byte order', utf16(`\ufeff${TABS}`, true), ONE],
  ['UTF-16 without a mark', utf16(TABS, false), ONE],
  ['UTF-16 of the other byte order without a mark', utf16(TABS, true), ONE],
  ['a line that declares the separator', `\ufeffsep=;\r\nto;amount\r\n${ANNA};1,5 ether\r\n`, HALVES],
  [
    'a title above the names of the columns',
    `Payroll May,,\n,,\nName,Wallet address,Amount (ETH)\nAnna,${ANNA},1.5\n`,
    HALVES,
  ],
  [
    'names with capitals inside',
    `walletAddress,amountUSDC\n${ANNA},1.5\n`,
    [[1_500_000n, ANNA, 'USDC']],
    { tokens: [USDC] },
  ],
  ['names in capitals', `RECIPIENT,AMOUNT PAID (ETH)\n${ANNA},1.5\n`, HALVES],
  ['a unit as the name of the amounts', `Email Address,Wallet Address,ETH\na@b.com,${ANNA},1.5\n`, HALVES],
  ['German names', `Empfänger;Betrag;Währung\n${ANNA};1,5;ETH\n`, HALVES],
  ['a column of units', `to,amount,unit\n${ANNA},1,ether\n${BOB},2,ETH\n`, TWO],
  [
    'several tokens, by address and by symbol',
    `token,to,amount\n${USDC},${ANNA},1.5 USDC\nETH,${BOB},2\n${DAI},${BOB},1 DAI\nUSDC,${BOB},7\n`,
    [
      [1_500_000n, ANNA, 'USDC'],
      [2n * ETHER, BOB],
      [ETHER, BOB, 'DAI'],
      [7_000_000n, BOB, 'USDC'],
    ],
  ],
  [
    'a token by its address, with --unit',
    `token,to,amount\n${USDC},${ANNA},1.5\n`,
    [[1_500_000n, ANNA, 'USDC']],
    { unit: 'tokens' },
  ],
  [
    'tokens by their symbols, with --token',
    `token,to,amount\nUSDC,${ANNA},1.5\n`,
    [[1_500_000n, ANNA, 'USDC']],
    { tokens: [USDC, DAI] },
  ],
  [
    'several tokens by the units of the amounts',
    `to,amount\n${ANNA},1.5 USDC\n${BOB},2 DAI\n`,
    [
      [1_500_000n, ANNA, 'USDC'],
      [2n * ETHER, BOB, 'DAI'],
    ],
    { tokens: [USDC, DAI] },
  ],
  [
    'a token with a symbol of 32 bytes',
    `to,amount\n${ANNA},1 MKR\n`,
    [[ETHER, ANNA, 'MKR']],
    { tokens: [TOKENS.MKR.address] },
  ],
  [
    'a token with another name on this chain',
    `to,amount_usdc\n${ANNA},1\n`,
    [[ETHER, ANNA, 'DAI']],
    { tokens: [DAI], unit: 'tokens' },
  ],
  ['a column of chains', `to,amount,chain\n${ANNA},1 ether,1\n${BOB},2 ether,Ethereum\n`, TWO],
  ['a column named #', `#,Name,Address,Amount (ETH)\n1,Anna,${ANNA},1\n2,Bob,${BOB},2\n`, TWO],
  ['names behind a #', `#address,amount\n${ANNA},1.5 ether\n`, HALVES],
  [
    'a remark between ids',
    `id,to,amount\nA-1,${ANNA},1 ether\n# the others, below\nA-2,${BOB},2 ether\n`,
    TWO,
  ],
  ['a quotation mark within a cell', `to,amount,note\n${ANNA},1 ether,5" pipe\n${BOB},2 ether,x\n`, TWO],
  ['a line break within a cell', `to,amount,note\n${ANNA},1 ether,"a\nb"\n${BOB},2 ether,x\n`, TWO],
  ['blanks around cells', `to , amount, note\n${ANNA} , 1 ether, "a, b"\n`, ONE],
  ['a table of Markdown', `| to | amount |\n|---|:--|\n| ${ANNA} | 1 ether |\n`, ONE],
  ['a list with several separators', `${ANNA} 1\n${BOB}=2\n`, TWO, { unit: 'ether' }],
  ['a list with units', `${ANNA} 1 ether\n${BOB}   2 ether\n`, TWO],
  ['a list with names', `address amount\n${ANNA} 1 ether\n`, ONE],
  ['tabs without names', `${ANNA}\t1 ether\n`, ONE],
  ['semicolons and decimal commas without names', `${ANNA};1,5\n`, HALVES, { unit: 'ether' }],
  ['positions of columns', `Anna,${ANNA},1.5\n`, HALVES, { unit: 'ether', columns: 'to=2,amount=3,note=1' }],
  [
    'ids that begin with # without names',
    `#1,${ANNA},1 ether\nA-2,${BOB},2 ether\n`,
    TWO,
    { columns: 'id=1,to=2,amount=3' },
  ],
  ['chosen columns', `A,B,C\n${BOB},${ANNA},1 ether\n`, ONE, { columns: 'to=B,amount=C' }],
  [
    'chosen names with commas',
    `"Wallet, ETH","Amount, net"\n${ANNA},1 ether\n`,
    ONE,
    { columns: '"to=Wallet, ETH","amount=Amount, net"' },
  ],
  ['addresses with the chain', `to,amount\nethereum:${ANNA}@1,1 ether\neip155:1:${BOB},2 ether\n`, TWO],
  [
    'an ICAP address',
    'to,amount\nXE65GB6LDNXYOFTX0NSV3FUWKOWIXAMJK36,1 ether\n',
    [[ETHER, '0x8ba1f109551bD432803012645Ac136ddd64DBA72']],
  ],
  ['a total in a column with a unit', `to,Amount (ETH)\n${ANNA},1\n${BOB},2\n,3\n`, TWO],
  ['a total without a unit', `to,amount\n${ANNA},1 ether\n${BOB},2 ether\nTotal:,3\n`, TWO],
  ['JSON that maps recipients to amounts', `{"${ANNA}": "1 ether", "${BOB}": 2}`, TWO, { unit: 'ether' }],
  [
    'a JSON array of objects',
    JSON.stringify(
      [
        { address: ANNA, amount: 1 },
        { address: BOB, amount: '2' },
      ],
      null,
      1,
    ),
    TWO,
    { unit: 'ether' },
  ],
  [
    'a JSON array of arrays',
    JSON.stringify([
      [ANNA, '1 ether'],
      [BOB, '2 ether'],
    ]),
    TWO,
  ],
  ['a JSON object with one list', JSON.stringify({ payments: [{ to: ANNA, amount: '1 ether' }] }), ONE],
  ['one JSON object', JSON.stringify({ to: ANNA, amount: '1 ether' }), ONE],
  [
    'JSON Lines',
    `{"to":"${ANNA}","amount":"1.000 ether"}\n\n{"to":"${BOB}","amount":2.000,"note":"x"}\n`,
    TWO,
    { unit: 'ether' },
  ],
  [
    'numbers of JSON with more digits than a double',
    `[{"to":"${ANNA}","amount":12345678901234567890}]`,
    [[12_345_678_901_234_567_890n, ANNA]],
    { unit: 'wei' },
  ],
  ['the text mark of spreadsheets', `to,amount\n'${ANNA},'1 ether\n`, ONE],
]

describe('is paid exactly so', () => {
  test.each(PAID.map(([title, content, payments, given]) => ({ title, content, payments, given })))(
    '$title',
    async ({ content, payments, given }) => {
      const { rows } = await payoutIn(content, given)
      expect(rows.map(({ amount, to, money }) => [amount, to, money.symbol])).toEqual(
        payments.map(([amount, to, symbol = 'ETH']) => [amount, to, symbol]),
      )
    },
  )
})

type Refused = readonly [title: string, content: string | Uint8Array, message: string, given?: Given]

const REFUSED: readonly Refused[] = [
  ['an empty file', '', 'pay.csv has no lines to send.'],
  ['a file of comments', '# a\n# b\n', 'pay.csv has no lines to send.'],
  ['only names of columns', 'to,amount\n', 'pay.csv has no lines to send.'],
  ['a web page', '<html><table>', 'is a web page or XML: save the table as .csv or .xlsx.'],
  ['a PDF', '%PDF-1.4', 'is a PDF or an archive'],
  ['other bytes', new Uint8Array([0x89, 0x50, 0, 0, 1, 2, 3, 0, 0, 0]), 'it has zero bytes'],
  [
    'two columns of recipients',
    `Wallet,Backup wallet,ETH\n${BOB},${ANNA},1\n`,
    'line 1 names 2 columns that may be the recipient, "Wallet" and "Backup wallet": say --columns "to=Wallet" or --columns "to=Backup wallet"',
  ],
  [
    'two columns of amounts',
    `to,Amount (ETH),Value (USD)\n${ANNA},5,9\n`,
    'line 1 names 2 columns that may be the amount',
  ],
  [
    'unknown names',
    `Cuenta;Plata\n${ANNA};1 ether\n`,
    'line 1 names no column for the recipient and the amount; the columns are "Cuenta", "Plata". Say which it is, for example --columns "to=Cuenta,amount=Plata"',
  ],
  [
    'a mistyped name',
    `to,ammount\n${ANNA},1 ether\n`,
    'line 1 names a column "ammount": correct it to "amount", or say --columns "note=ammount"',
  ],
  [
    'a mistyped field',
    JSON.stringify({ to: ANNA, functon: 'f()', amount: '1 ether' }),
    'names a column "functon": correct it to "function"',
  ],
  [
    'units in a column without a name',
    `to,amount,,x\n${ANNA},1,gwei,y\n`,
    'has a column "" with "gwei" (line 2): say --columns "unit=3" or --columns "note=3"',
    { unit: 'ether' },
  ],
  [
    'units beyond the columns',
    `to,amount,\n${ANNA},1,gwei\n`,
    'line 2 has 3 cells for 2 columns',
    { unit: 'ether' },
  ],
  [
    'units in a column with another name',
    `to,amount,Kind\n${ANNA},1,gwei\n`,
    'has a column "Kind" with "gwei" (line 2): say --columns "unit=Kind" or --columns "note=Kind"',
    { unit: 'ether' },
  ],
  [
    'text in a column without a name',
    `to,amount,,x\n${ANNA},1 ether,hm,y\n`,
    'gives no name to column 3, and line 2 has "hm" there: name it, or say --columns "note=3"',
  ],
  [
    'three cells without names',
    `Anna,${ANNA},1.5\n`,
    'line 1 has 3 cells, and no line above names the columns: say which is which, for example --columns "to=1,amount=2"',
  ],
  [
    'an unknown role',
    `to,amount\n${ANNA},1 ether\n`,
    '--columns has "recipient=to", and expects for example "to=Wallet,amount=3"',
    { columns: 'recipient=to' },
  ],
  [
    'an unknown column',
    `to,amount\n${ANNA},1 ether\n`,
    'has no column "X" for --columns: the columns are to, amount.',
    { columns: 'to=X' },
  ],
  [
    'a column that is named twice',
    `a,a,amount\n${ANNA},${BOB},1 ether\n`,
    'has 2 columns "a": give the position in --columns, 1 or 2.',
    { columns: 'to=a' },
  ],
  [
    'a unit that its column contradicts',
    `to,Amount (ETH)\n${ANNA},5 gwei\n`,
    'line 2 "5 gwei" is in gwei, and its column or row says ETH: leave one',
  ],
  [
    'a currency that is none',
    `to,Amount (USD)\n${ANNA},5\n`,
    '"USD" in the name of the column "Amount (USD)" is no unit here',
    { unit: 'ether' },
  ],
  [
    'a symbol without a token',
    `token,to,amount\nUSDC,${ANNA},1\n`,
    '"USDC" does not say which token it is: give its address, in the column or as --token ADDRESS',
  ],
  [
    'a token by its address, and a number alone',
    `token,to,amount\n${USDC},${ANNA},1\n`,
    '"1" has no unit: write "1 USDC" or "1 base", or say --unit tokens or --unit base',
  ],
  [
    'an address that is no token',
    `token,to,amount\n${ANNA},${BOB},1 USDC\n`,
    `${ANNA} does not answer decimals() and symbol() on Ethereum: is it a token there?`,
  ],
  [
    'a row without a token among others',
    `token,to,amount\n,${ANNA},1 ether\nETH,${BOB},1\n`,
    'line 2 has no token: write its address, or ETH',
  ],
  [
    'several tokens, and a number alone',
    `to,amount\n${ANNA},1\n`,
    'does not say which of the tokens it pays',
    { tokens: [USDC, DAI] },
  ],
  [
    'decimals that are not those of the token',
    `token,to,amount,decimals\n${USDC},${ANNA},1 USDC,18\n`,
    'line 2 says "18" decimals, and USDC has 6',
  ],
  [
    'another chain',
    `to,amount,network\n${ANNA},1 ether,polygon\n`,
    'line 2 is meant for chain "polygon", and this is Ethereum (1)',
  ],
  [
    'another account',
    `from,to,amount\n${BOB},${ANNA},1 ether\n`,
    `line 2 is to be paid from ${BOB}, and the key belongs to ${ANNA}`,
    { account: ANNA },
  ],
  [
    'a row that is marked as paid',
    `to,amount,status\n${ANNA},1 ether,paid\n${BOB},1 ether,\n`,
    'line 2 is marked as "paid"',
  ],
  [
    'a comment that may be a row',
    `id,to,amount\nA-1,${ANNA},1 ether\n# A-2,${BOB},2 ether\n`,
    'line 3 begins with "# A-2" and has a payment',
  ],
  [
    'an open quotation mark',
    `to,amount,note\n${ANNA},1 ether,"rent\n${BOB},2 ether,x\n`,
    'has a quotation mark that is not closed',
  ],
  [
    'a payment within a cell',
    `to,amount,note\n${ANNA},1 ether,"5 inch\n${BOB},2 ether,7 inch"\n`,
    'line 2 has a cell with a line break and an address in it',
  ],
  [
    'text beside quotation marks',
    `to,amount,note\n${ANNA},1 ether,"a" b\n`,
    'line 2 has text beside a cell in quotation marks',
  ],
  [
    'a link',
    `to,amount\nhttps://etherscan.io/address/${ANNA},1 ether\n`,
    'is a link: write the address alone',
  ],
  [
    'an address that is too short',
    `to,amount\n${ANNA.slice(0, -1)},1 ether\n`,
    'it has 39 hexadecimal digits, and an address has 40',
  ],
  ['an unknown prefix', `to,amount\nfoo:${ANNA},1 ether\n`, 'begins with "foo:", which names no known chain'],
  [
    'an address of another kind',
    'to,amount\nanna@example.com,1 ether\n',
    'line 2 "anna@example.com" is no address',
  ],
  ['a name that ENS does not allow', 'to,amount\nnot_ok_$.eth,1 ether\n', 'is no valid name'],
  [
    'a total that is none',
    `to,amount\n${ANNA},1 ether\n${BOB},2 ether\nTOTAL,4 ether\n`,
    'line 4 is a row "TOTAL", and its amount "4 ether" is not the sum of the lines above (3 ETH): correct it or delete it',
  ],
  [
    'a total that pays a recipient',
    `to,amount,note\n${ANNA},1 ether,\n${BOB},2 ether,\n${BOB},3 ether,Total\n`,
    'line 4 is called a total',
  ],
  ['a recipient that is missing', `to,amount\n${ANNA},1 ether\n,1 ether\n`, 'line 3 has no recipient'],
  [
    'two amounts in one object',
    `[{"to":"${ANNA}","amount":"1 ether","amount":"2 ether"}]`,
    'line 1 has the field "amount" twice',
  ],
  [
    'a list beside other fields',
    JSON.stringify({ token: USDC, payments: [{ to: ANNA, amount: '1' }] }),
    'has "payments" beside "token": leave only the list of payments.',
  ],
  [
    'broken JSON',
    `[{"to":"${ANNA}"},\n{"to":"${ANNA}" "amount":"1 ether"}]`,
    'a comma, a quotation mark or a bracket is missing near line 2.',
  ],
  ['a broken line of JSON', `{"to":"${ANNA}","amount":"1 ether"}\n{"to"\n`, 'line 2 is no JSON object'],
  [
    'a unit that is none',
    `to,amount\n${ANNA},1\n`,
    '--unit eur is none of ether, gwei, wei, ETH.',
    { unit: 'eur' },
  ],
]

describe('is refused with the remedy', () => {
  test.each(REFUSED.map(([title, content, message, given]) => ({ title, content, message, given })))(
    '$title',
    async ({ content, message, given }) => {
      expect(await refusalIn(content, given)).toContain(message)
    },
  )
})

test('many mistakes of one kind are counted, so that the others are seen', async () => {
  const rows = Array.from({ length: 200 }, () => `${ANNA},1`)
  const message = await refusalIn(['to,amount', ...rows, '0x12,1 ether'].join('\n'))
  expect(message.split('\n')).toHaveLength(8)
  expect(message).toContain('line 202 "0x12" is no address')
  expect(message).toContain('… and 195 more')
})

test('the dry run shows how the file was understood', async () => {
  const note = Buffer.from(
    `Wallet;Betrag (ETH);Memo;Team\n# x ${BOB}\n${ANNA};1,5;Z\xfcrich \x80;A\n${BOB};2;;B\n`,
    'latin1',
  )
  const { understood, rows, columns } = await payoutIn(note)
  expect(columns).toEqual(['Wallet', 'Betrag (ETH)', 'Memo', 'Team'])
  expect(rows[0]?.cells).toEqual([ANNA, '1,5', 'Zürich €', 'A'])
  expect(understood).toEqual([
    ['format', 'CSV with semicolons, Windows-1252'],
    ['columns', 'to: “Wallet”, amount: “Betrag (ETH)” in ETH, note: “Memo”'],
    ['not used', '“Team”'],
    ['lines left out', '1 with a comment, with an address in a comment: line 2'],
    ['decimal mark', 'comma'],
    ['first', `line 3: 1.5 ETH to ${ANNA}`],
    ['last', `line 4: 2 ETH to ${BOB}`],
    ['total', '3.5 ETH in 2 lines'],
  ])
})

test('two tokens with one symbol are refused, and so is a token named like the currency of the chain', async () => {
  const twins = { 'USDC ': TOKENS.USDC, USDC: { ...TOKENS.DAI } }
  const { chain, names } = MAINNET
  const text = `token,to,amount\n${USDC},${ANNA},1 tokens\n${DAI},${BOB},1 tokens\n`
  expect(await refusalIn(text, { on: { chain, names, tokens: twins } })).toContain(
    `pays two tokens called USDC, ${USDC} and ${DAI}: pay them from separate files.`,
  )
  expect(
    await refusalIn(`to,amount\n${ANNA},1 ETH\n`, {
      tokens: [USDC],
      on: { chain, names, tokens: { ETH: TOKENS.USDC } },
    }),
  ).toContain('are called so: write "ether" or "tokens"')
})
