import { describe, expect, test } from 'vitest'
import { ANNA, BOB, type Given, MAINNET, refusalIn, TOKENS } from './payout.fixture.js'

const USDC = TOKENS.USDC.address
const DAI = TOKENS.DAI.address

type Refused = readonly [title: string, content: string | Uint8Array, message: string, given?: Given]

const REFUSED: readonly Refused[] = [
  ['an empty file', '', 'pay.csv has no lines to send.'],
  ['a file of comments', '# a\n# b\n', 'pay.csv has no lines to send.'],
  ['only names of columns', 'to,amount\n', 'pay.csv has no lines to send.'],
  ['a web page', '<html><table>', 'is a web page or XML: save the table as .csv or .xlsx.'],
  ['a PDF', '%PDF-1.4', 'is no text, but a PDF'],
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
    'line 1 has 3 cells, and no line above names the columns: say which is which, for example --columns "to=2,amount=3"',
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

test('a key in place of a recipient is not printed', async () => {
  const key = 'ab'.repeat(32)
  for (const text of [key, `0x${key}`]) {
    const message = await refusalIn(`to,amount\n${text},1 ether\n`)
    expect(message).toContain('line 2 has a recipient of 64 hexadecimal digits, and an address has 40')
    expect(message).not.toContain(key)
  }
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
  ).toContain('are called so: write "tokens"')
})
