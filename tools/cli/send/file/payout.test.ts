import { describe, expect, test } from 'vitest'
import { ANNA, BOB, ETHER, type Given, payoutIn, TOKENS } from './payout.fixture.js'

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
    ['no effect', '“Team”'],
    ['lines left out', '1 with a comment, with an address in a comment: line 2'],
    ['decimal mark', 'comma'],
    ['first', `line 3: 1.5 ETH to ${ANNA}`],
    ['last', `line 4: 2 ETH to ${BOB}`],
    ['total', '3.5 ETH in 2 lines'],
  ])
})
