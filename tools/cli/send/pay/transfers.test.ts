import {
  type Address,
  createClient,
  custom,
  encodeAbiParameters,
  encodeFunctionResult,
  erc20Abi,
  type Hex,
  pad,
  toEventSelector,
  toHex,
} from 'viem'
import { expect, test } from 'vitest'
import type { Money, Row } from '../file/rows.js'
import { createTransfers, type Receipt, unmovedKey } from './transfers.js'

const [PAYER, ANNA, BOB, TOKEN] = [1n, 2n, 3n, 4n].map((digit) => pad(toHex(digit << 32n), { size: 20 })) as [
  Address,
  Address,
  Address,
  Address,
]
const HASH: Hex = `0x${'1'.repeat(64)}`
const COIN: Money = { kind: 'token', address: TOKEN, symbol: 'COIN', decimals: 2 }
const ETHER: Money = { kind: 'native', symbol: 'ETH' }

const row = (to: Address, amount: bigint, money: Money = COIN) =>
  ({ id: `${to}-${amount}`, line: 2, to, amount, money, request: { to: TOKEN } }) as unknown as Row

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const log = (from: Address, to: Address, amount: bigint, address = TOKEN) => ({
  address,
  topics: [TRANSFER, pad(from), pad(to)],
  data: encodeAbiParameters([{ type: 'uint256' }], [amount]),
})
const receiptOf = (...logs: Receipt['logs']): Receipt => ({ transactionHash: HASH, blockNumber: 9n, logs })

type Node = {
  /** The balance of any account before and after block 9; without it the node has pruned them. */
  readonly balances?: readonly [before: bigint, after: bigint]
  /** The transfers of the token in block 9. */
  readonly logs?: Receipt['logs']
  readonly answer?: Hex
}

function transfersAt({ balances, logs = [], answer }: Node, known: ReadonlySet<string> = new Set()) {
  const request = async ({ method, params }: { method: string; params: readonly unknown[] }) => {
    if (method === 'eth_getLogs')
      return logs.map((each) => ({ ...each, blockNumber: '0x9', logIndex: '0x0', transactionIndex: '0x0' }))
    if (answer !== undefined) return answer
    if (balances === undefined) throw new Error('missing trie node')
    const result = balances[params[1] === '0x8' ? 0 : 1]
    return encodeFunctionResult({ abi: erc20Abi, functionName: 'balanceOf', result })
  }
  const client = createClient({ transport: custom({ request } as never, { retryCount: 0 }) })
  return createTransfers(client, PAYER, known)
}

const statuses = async (
  rows: readonly Row[],
  receipt: Receipt | undefined,
  node: Node = {},
  known?: Set<string>,
) => (await transfersAt(node, known).verdicts(rows, receipt)).map(({ status }) => status)

test('a line is paid by the event of its token, its payer, its recipient and its amount', async () => {
  const paid = [row(ANNA, 5n)]
  expect(await statuses(paid, receiptOf(log(PAYER, ANNA, 5n)))).toEqual(['paid'])
  const still = { balances: [7n, 7n] } as const
  for (const other of [log(BOB, ANNA, 5n), log(PAYER, BOB, 5n), log(PAYER, ANNA, 5n, BOB)])
    expect(await statuses(paid, receiptOf(other), still)).toEqual(['unmoved'])
  expect(await statuses(paid, receiptOf(), still)).toEqual(['unmoved'])
})

test('each line of a transaction needs an event of its own', async () => {
  const rows = [row(ANNA, 5n), row(ANNA, 5n), row(BOB, 6n)]
  const receipt = receiptOf(log(PAYER, ANNA, 5n), log(PAYER, BOB, 6n))
  const logs = receipt.logs
  expect(await statuses(rows, receipt, { balances: [0n, 5n], logs })).toEqual(['paid', 'unmoved', 'paid'])
})

test('an event with another amount shows the amount that the recipient got', async () => {
  const [verdict] = await transfersAt({}).verdicts([row(ANNA, 500n)], receiptOf(log(PAYER, ANNA, 485n)))
  expect(verdict).toMatchObject({ status: 'partial', received: 485n })
  expect(verdict?.error).toContain('The recipient got 4.85 COIN of 5 COIN')
})

test('reads the events of tokens that index other parts of them', async () => {
  const words = [pad(PAYER), pad(ANNA), pad(toHex(5n))].map((word) => word.slice(2)).join('')
  const old = { address: TOKEN, topics: [TRANSFER], data: `0x${words}` as Hex }
  expect(await statuses([row(ANNA, 5n)], receiptOf(old))).toEqual(['paid'])
})

test('without an event the balance decides, minus the other transfers of the block', async () => {
  const silent = [row(ANNA, 5n)]
  expect(await statuses(silent, receiptOf(), { balances: [10n, 15n] })).toEqual(['paid'])
  const others = [log(BOB, ANNA, 9n), log(ANNA, BOB, 4n)]
  expect(await statuses(silent, receiptOf(), { balances: [10n, 15n], logs: others })).toEqual(['unmoved'])
  expect(await statuses(silent, receiptOf(), { balances: [10n, 20n], logs: others })).toEqual(['paid'])
  expect(await statuses(silent, receiptOf(), { balances: [10n, 12n] })).toEqual(['open'])
})

test('a line whose balances no node has stays open, unless an earlier run found it unmoved', async () => {
  const silent = row(ANNA, 5n)
  expect(await statuses([silent], receiptOf())).toEqual(['open'])
  expect(await statuses([silent], receiptOf(), {}, new Set([unmovedKey(silent.id, HASH)]))).toEqual([
    'unmoved',
  ])
  expect(await statuses([silent], undefined)).toEqual(['open'])
})

test('a success pays a line of the native currency, and one of nothing', async () => {
  expect(await statuses([row(ANNA, 5n, ETHER), row(BOB, 0n)], receiptOf())).toEqual(['paid', 'paid'])
})

test.each([
  ['false', pad('0x00'), true],
  ['true', pad('0x01'), false],
  ['nothing', '0x', false],
] as const)('a token that answers %s', async (_, answer, refuses) => {
  expect(await transfersAt({ answer }).answersFalse(row(ANNA, 5n))).toBe(refuses)
})
