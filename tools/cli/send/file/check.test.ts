import { decodeFunctionData, erc20Abi, parseAbi, zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { checkRows } from './check.js'
import { readRows } from './read.js'
import type { Money } from './rows.js'

const ANNA = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const BOB = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const ETHER: Money = { kind: 'native', symbol: 'ETH' }
const USDC: Money = { kind: 'token', address: BOB, symbol: 'USDC', decimals: 6 }

function check(text: string, money = ETHER, name = 'x.csv', unit?: string) {
  const read = readRows(name, text)
  const { rows, problems } = checkRows(read.rows, money, unit)
  const all = [...read.problems, ...problems]
  return { rows, problems: all.map(({ line, message }) => `${line} ${message}`) }
}

test('equal lines are different payments, and keep their ids when the lines are reordered', () => {
  const a = `${ANNA},1 wei`
  const b = `${BOB},1 wei`
  const first = check(`to,amount\n${a}\n${a}\n${b}\n`)
  const second = check(`to,amount\n${b}\n${a}\n${a}\n`)
  expect(first.problems).toEqual([])
  expect(new Set(first.rows.map(({ id }) => id)).size).toBe(3)
  expect(second.rows.map(({ id }) => id).sort()).toEqual(first.rows.map(({ id }) => id).sort())
})

test('reports every invalid line with its error', () => {
  const { problems } = check(
    [
      'id,to,amount,args',
      `1,${ANNA},1 ether,`,
      `1,${ANNA},1 ether,`,
      `,${ANNA},1 ether,`,
      `4,${ANNA.toLowerCase().replace('d', 'D')},1 ether,`,
      '5,0x12,1 ether,',
      `6,${ANNA},1,`,
      `7,${ANNA},0 ether,`,
      `8,${zeroAddress},1 ether,`,
      `9,${ANNA},1 ether,[1]`,
      'a b,,1 ether,',
    ].join('\n'),
  )
  expect(problems).toEqual([
    '3 has the id "1" of line 2',
    '4 has no id, while others have one',
    expect.stringMatching(/^5 .* has a wrong checksum/),
    '6 "0x12" is no address',
    expect.stringMatching(/^7 "1" has no unit/),
    '8 pays nothing',
    expect.stringMatching(/^9 pays to the zero address/),
    '10 has args, and no function',
    '11 has no "to"',
  ])
})

test('refuses an unknown column', () => {
  expect(check(`to,ammount\n${ANNA},1 wei`).problems[0]).toContain('1 "ammount" is not a column')
  expect(check(`${ANNA},1 wei\n${BOB},1 wei`).problems[0]).toContain('the first line must name the columns')
  expect(check(`to,amount\n${ANNA},1 wei,3`).problems[0]).toMatch(/^2 Invalid Record Length/)
})

test('pays a token with transfer, and never to the token contract', () => {
  const { rows, problems } = check(`to,amount\n${ANNA},12.5 USDC\n${BOB},1 USDC`, USDC)
  expect(problems).toEqual([expect.stringMatching(/^3 pays the token to its own contract/)])
  const [row] = rows
  expect(row).toMatchObject({ to: ANNA, amount: 12_500_000n, request: { to: BOB, value: 0n } })
  expect(decodeFunctionData({ abi: erc20Abi, data: row?.request.data ?? '0x' })).toEqual({
    functionName: 'transfer',
    args: [ANNA, 12_500_000n],
  })
})

test('accepts a call as calldata or as a function with arguments, in CSV and in JSON Lines', () => {
  const abi = parseAbi(['function mint(address to, uint256 amount)'])
  const csv = check(
    `to,function,args,gas\n${BOB},"mint(address to, uint256 amount)","[""${ANNA}"", 5]",90000`,
  )
  const line = { to: BOB, function: 'mint(address to, uint256 amount)', args: [ANNA, 5], gas: 90_000 }
  const jsonl = check(`${JSON.stringify(line)}\n\n`, ETHER, 'x.jsonl')
  expect([csv.problems, jsonl.problems]).toEqual([[], []])
  expect(jsonl.rows[0]?.request).toEqual(csv.rows[0]?.request)
  expect(csv.rows[0]?.request.gas).toBe(90_000n)
  const decoded = decodeFunctionData({ abi, data: csv.rows[0]?.request.data ?? '0x' })
  expect(decoded.args).toEqual([ANNA, 5n])
  expect(check(`to,data\n${BOB},0x123`).problems).toEqual(['2 "0x123" is no calldata'])
  expect(check(`to,function\n${BOB},mint(`).problems[0]).toContain('is no function')
  expect(check('{"to":"x"', ETHER, 'x.jsonl').problems).toEqual(['1 is no JSON object'])
  expect(check('{"amount": 12345678901234567890}', ETHER, 'x.jsonl').problems[0]).toBe('1 has no "to"')
})

test('refuses a number that JSON has rounded', () => {
  const { problems } = check(`{"to":"${ANNA}","amount":12345678901234567890}`, ETHER, 'x.jsonl', 'wei')
  expect(problems[0]).toContain('is no amount')
})
