import { decodeFunctionData, erc20Abi, parseAbi, zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { ANNA, BOB, type Given, payoutIn, refusalIn, TOKENS } from './payout.fixture.js'

const USDC: Given = { tokens: [TOKENS.USDC.address] }
const problems = async (text: string, given?: Given) => (await refusalIn(text, given)).split('\n  ').slice(1)

test('equal lines are different payments, and keep their ids when the lines are reordered', async () => {
  const a = `${ANNA},1 wei`
  const b = `${BOB},1 wei`
  const first = (await payoutIn(`to,amount\n${a}\n${a}\n${b}\n`)).rows.map(({ id }) => id)
  const second = (await payoutIn(`to,amount\n${b}\n${a}\n${a}\n`)).rows.map(({ id }) => id)
  expect(new Set(first).size).toBe(3)
  expect(second.sort()).toEqual(first.sort())
})

test('an id without an id column is the one of earlier versions, whose journals know it', async () => {
  const native = await payoutIn(`to,amount\n${ANNA},1 ether\n${ANNA.toLowerCase()},1 ether\n`)
  expect(native.rows.map(({ id }) => id)).toEqual(['403a185567be427c-1', '403a185567be427c-2'])
  const token = await payoutIn(`to,amount\n${ANNA},1 USDC\n`, USDC)
  expect(token.rows.map(({ id }) => id)).toEqual(['b2911c4596f6082e-1'])
})

test('reports every invalid line with its error', async () => {
  expect(
    await problems(
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
        'a b,,1 ether,x',
        `10,${ANNA},1 ether,`,
      ].join('\n'),
    ),
  ).toEqual([
    'line 3 has the id "1" of line 2',
    'line 4 has no id, while others have one',
    expect.stringMatching(/^line 5 .* has a wrong checksum/),
    expect.stringMatching(/^line 6 "0x12" is no address/),
    expect.stringMatching(/^line 7 "1" has no unit/),
    'line 8 pays nothing: delete the line, or correct its amount',
    expect.stringMatching(/^line 9 pays to the zero address/),
    'line 10 has args, and no function',
    'line 11 has no recipient: write one, or delete the line',
  ])
  expect(await problems(`id,to,amount\na b,${ANNA},1 ether\n`)).toEqual([
    'line 2 "a b" is no id: up to 100 characters, no spaces and no ~',
  ])
})

test('reports each repetition of an id, with the line of the first', async () => {
  const lines = ['a', 'b', 'a', 'a', 'b', 'c'].map((id) => `${id},${ANNA},1 ether`)
  expect(await problems(`id,to,amount\n${lines.join('\n')}\n`)).toEqual([
    'line 4 has the id "a" of line 2',
    'line 5 has the id "a" of line 2',
    'line 6 has the id "b" of line 3',
  ])
})

test('a call keeps its gas limit, also of 0, and an amount above 64 bits is exact', async () => {
  const { rows } = await payoutIn(
    `to,amount,gas\n${ANNA},1 ether,0\n${BOB},123456789012345678901.5 ether,7\n`,
  )
  expect(rows.map(({ request }) => request)).toEqual([
    { to: ANNA, value: 10n ** 18n, gas: 0n },
    { to: BOB, value: 123_456_789_012_345_678_901_500_000_000_000_000_000n, gas: 7n },
  ])
})

test('pays a token with transfer, and never to the token contract', async () => {
  const { address } = TOKENS.USDC
  expect(await problems(`to,amount\n${ANNA},12.5 USDC\n${address},1 USDC`, USDC)).toEqual([
    expect.stringMatching(/^line 3 pays the token to its own contract/),
  ])
  const { rows } = await payoutIn(`to,amount\n${ANNA},12.5 USDC`, USDC)
  expect(rows[0]).toMatchObject({ to: ANNA, amount: 12_500_000n, request: { to: address, value: 0n } })
  expect(decodeFunctionData({ abi: erc20Abi, data: rows[0]?.request.data ?? '0x' })).toEqual({
    functionName: 'transfer',
    args: [ANNA, 12_500_000n],
  })
})

test('accepts a call as calldata or as a function with arguments, in CSV and in JSON Lines', async () => {
  const abi = parseAbi(['function mint(address to, uint256 amount)'])
  const csv = await payoutIn(
    `to,function,args,gas\n${BOB},"mint(address to, uint256 amount)","[""${ANNA}"", 5]",90000`,
  )
  const line = { to: BOB, function: 'mint(address to, uint256 amount)', args: [ANNA, 5], gas: 90_000 }
  const json = await payoutIn(`${JSON.stringify(line)}\n\n`)
  expect(json.rows[0]?.request).toEqual(csv.rows[0]?.request)
  expect(csv.rows[0]?.request.gas).toBe(90_000n)
  const decoded = decodeFunctionData({ abi, data: csv.rows[0]?.request.data ?? '0x' })
  expect(decoded.args).toEqual([ANNA, 5n])
  expect(await problems(`to,data\n${BOB},0x123`)).toEqual(['line 2 "0x123" is no calldata'])
  expect((await problems(`to,function\n${BOB},mint(`))[0]).toContain('is no function')
  expect(await problems(`to,function\n${BOB},f()`, USDC)).toEqual([
    'line 2 is a call: --token only supports transfers of that token',
  ])
  expect(await problems('{"to":"x"')).toEqual(['line 1 is no JSON object'])
})
