import { expect, test } from 'vitest'
import { ANNA, ETHER, type Given, MAINNET, payoutIn, refusalIn, TOKENS } from './payout.fixture.js'

const { address: USDC } = TOKENS.USDC
const on = (symbol: string, decimals: number): Given => ({
  on: { ...MAINNET, tokens: { [symbol]: { address: USDC, decimals } } },
})

const AMOUNTS = [
  '5',
  '0',
  '0.5',
  '0.001001',
  '1e-19',
  '1.2.3',
  '1,234.5.6',
  'x',
  '1/2',
  '½',
  '١٠',
  '1 ETH',
  '1 5',
]
const HEADS = ['amount', 'Amount (ETH)', 'Amount (wei)', 'Amount (USDC)']
const GIVENS: readonly Given[] = [
  {},
  { decimal: 'comma' },
  { unit: 'wei' },
  { unit: 'ether', decimal: 'comma' },
  { tokens: [USDC] },
  { tokens: [USDC], decimal: 'comma' },
  { tokens: [USDC], ...on('1INCH', 18) },
  { tokens: [USDC], ...on('ETH', 6) },
  { tokens: [USDC], ...on('BASE', 2) },
  { tokens: [USDC], ...on('WHOLE', 0) },
  { tokens: [USDC, TOKENS.DAI.address] },
]

const FILES = GIVENS.flatMap((given) =>
  HEADS.flatMap((head) =>
    AMOUNTS.flatMap((amount) => [
      { given, amount, head, columns: ['to', head], cells: [ANNA, amount] },
      ...('tokens' in given
        ? []
        : [{ given, amount, head, columns: ['token', 'to', head], cells: [USDC, ANNA, amount] }]),
    ]),
  ),
)
const fileOf = (...lines: readonly (readonly string[])[]) => lines.map((cells) => cells.join(';')).join('\n')

/** The texts in quotation marks behind "write". */
const proposedIn = (message: string) =>
  [
    ...(/: write (?:for example )?((?:"[^"]+"(?: or )?)+)/.exec(message)?.[1] ?? '').matchAll(/"([^"]+)"/g),
  ].map(([, text = '']) => text)
const optionsIn = (message: string) =>
  [...message.matchAll(/--(unit|decimal) ([a-z]+)/g)].map(([, name = '', value]) => ({ [name]: value }))

test('each amount and each option that a refusal proposes is paid', async () => {
  let [amounts, options] = [0, 0]
  for (const { given, amount, head, columns, cells } of FILES) {
    const message = await refusalIn(fileOf(columns, cells), given)
    const about = `${JSON.stringify(given)} ${head} ${amount}: ${message}`
    const number = /^[\d.,]+/.exec(amount)?.[0] ?? ''
    for (const text of proposedIn(message)) {
      amounts++
      // A unit alone replaces the unit of the cell.
      const proposed = /\d/.test(text) ? text : `${number} ${text}`
      const file = fileOf(columns, [...cells.slice(0, -1), proposed])
      expect(await refusalIn(file, given), about).toBe('paid 1 lines')
    }
    // An option for a token of another name says nothing about the number.
    if (message.includes('If it means')) continue
    for (const option of optionsIn(message)) {
      options++
      expect(await refusalIn(fileOf(columns, cells), { ...given, ...option }), about).toBe('paid 1 lines')
    }
  }
  expect(amounts).toBeGreaterThan(100)
  expect(options).toBeGreaterThan(20)
})

test.each(['Amount', 'Amount, net', 'Amount "net"', 'Amount=net', 'Amount ($USDC)', 'Amount `net`', 'Value'])(
  'each --columns that a refusal proposes is understood, beside a column %j',
  async (name) => {
    const file = `to,"${name.replaceAll('"', '""')}",Value\n${ANNA},1 ether,2 ether\n`
    const proposals = [...(await refusalIn(file)).matchAll(/--columns "([^"]+)"/g)].map(([, text]) => text)
    const read = await Promise.all(proposals.map((columns) => payoutIn(file, { columns })))
    expect(read.map(({ rows }) => rows[0]?.amount)).toEqual([ETHER, 2n * ETHER])
    expect(proposals.join()).not.toMatch(/[$`\\!]/)
  },
)

test('a number that is an amount in no unit gets no remedy that would be refused', async () => {
  expect(await refusalIn(`to,amount\n${ANNA},0.001001\n`)).toContain(
    '"0.001001" has no unit: write "0.001001 ether", or say --unit ether',
  )
  expect(await refusalIn(`to,amount\n${ANNA},1e-19\n`)).toContain(
    '"1e-19" has no unit, and cannot be paid in any',
  )
})
