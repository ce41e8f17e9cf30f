import { keccak256, toHex } from 'viem'
import { expect, test } from 'vitest'
import type { PlainCall, PlainRpc } from './plainRpc.js'
import { walkBlocks, walkChain } from './walk.js'

const ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const LEDGER = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const HEAD = 23

type Block = { number: string; hash: string; parentHash: string; transactions: object[] }

const hashOf = (number: number) => keccak256(toHex(number))

/** A chain with one transaction of the account and one of another account in each block from 1 to 23. */
function chain(
  changes: { block?: (block: Block) => Block | null; receipt?: (hash: string) => object | null } = {},
): PlainRpc {
  const block = (number: number): Block => ({
    number: toHex(number),
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    transactions: [ACCOUNT, LEDGER].map((from) => ({
      from: from.toLowerCase(),
      to: null,
      input: '0x1234',
      value: '0x5',
      nonce: toHex(number - 1),
      hash: keccak256(toHex(`${from} ${number}`)),
    })),
  })
  const answer = ([method, ...params]: PlainCall): unknown => {
    if (method === 'eth_getTransactionCount') return toHex(HEAD)
    if (method === 'eth_getStorageAt') return '0x03'
    const of = params[0] as `0x${string}`
    if (method === 'eth_getTransactionReceipt')
      return changes.receipt ? changes.receipt(of) : { status: '0x0' }
    const found = block(String(of) === 'latest' ? HEAD : Number(of))
    return changes.block ? changes.block(found) : found
  }
  return {
    origin: 'test',
    call: async (...call) => answer(call),
    all: async (calls) => calls.map(answer),
  }
}

const walk = (rpc: PlainRpc, after = 2) =>
  walkChain({
    rpc,
    account: ACCOUNT,
    start: { blockNumber: after, nonce: after },
    ledger: LEDGER,
    items: [1, 2],
    waiting: [],
  })

test("reads every block after the start, and takes only the account's transactions", async () => {
  const evidence = await walk(chain())
  expect(evidence).toMatchObject({ firstNonce: 2, count: HEAD, blocks: { first: 3, last: HEAD }, total: 3 })
  expect(evidence.transactions.map(({ nonce }) => nonce)).toEqual(
    Array.from({ length: 21 }, (_, at) => at + 2),
  )
  expect(evidence.transactions[0]).toEqual({
    nonce: 2,
    hash: keccak256(toHex(`${ACCOUNT} 3`)),
    blockNumber: 3,
    status: 'reverted',
    to: undefined,
    data: '0x1234',
    value: 5n,
  })
  expect([...evidence.marks]).toEqual([
    [1, 3],
    [2, 3],
  ])
})

test("lists each account's transactions, with an empty list for an idle account", async () => {
  const silent = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const { last, transactions } = await walkBlocks(chain(), [ACCOUNT, LEDGER, silent], 20)
  expect(last).toBe(HEAD)
  expect([...transactions].map(([account, sent]) => [account, sent.map(({ hash }) => hash)])).toEqual([
    ...[ACCOUNT, LEDGER].map((from) => [
      from,
      [21, 22, 23].map((number) => keccak256(toHex(`${from} ${number}`))),
    ]),
    [silent, []],
  ])
})

test('finds no transactions without new blocks', async () => {
  expect((await walk(chain(), HEAD)).transactions).toEqual([])
})

test('refuses unlinked and missing blocks', async () => {
  const broken = chain({
    block: (block) => (Number(block.number) === 9 ? { ...block, hash: hashOf(99) } : block),
  })
  await expect(walk(broken)).rejects.toThrow('not linked')
  const missing = chain({ block: (block) => (Number(block.number) === 9 ? null : block) })
  await expect(walk(missing)).rejects.toThrow('not linked')
})

test('reads the blocks again after a reorganisation', async () => {
  let reads = 0
  const moving = chain({
    block: (block) => {
      if (Number(block.number) !== 9) return block
      reads += 1
      return reads === 1 ? { ...block, hash: hashOf(99) } : block
    },
  })
  expect((await walk(moving)).transactions).toHaveLength(21)
})

test('refuses a transaction without a receipt', async () => {
  await expect(walk(chain({ receipt: () => null }))).rejects.toThrow('no receipt')
})
