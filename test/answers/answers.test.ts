import { readFileSync } from 'node:fs'
import { type Chain, createClient, custom, defineChain } from 'viem'
import { chainConfig } from 'viem/op-stack'
import { describe, expect, test } from 'vitest'
import { getBlockByNumber } from '../../src/rpc/methods/getBlockByNumber.js'
import { getBlockReceipts } from '../../src/rpc/methods/getBlockReceipts.js'
import { watchPending } from '../../src/rpc/methods/polls.js'
import { getCode, getStorageAt, getTransactionCount } from '../../src/rpc/methods/state.js'
import { createCallPort } from '../contract/stubPort.js'
import { createVirtualClock } from '../sim/virtualClock.js'
import type { Recording } from './record.js'

type Raw = Record<string, unknown>

// `recordings/*.json` hold their source. Those of geth, anvil and Hardhat are written by `main.ts`.
function read<t>(name: string): t {
  return JSON.parse(readFileSync(new URL(`recordings/${name}.json`, import.meta.url), 'utf8')) as t
}
const nodes = ['geth', 'anvil', 'hardhat'].map((name) => [name, read<Recording>(name)] as const)
const base = read<{ deposit: Raw; receipt: Raw }>('base')
const optimism = read<{ block: Raw }>('optimism')

const opStack = defineChain({
  ...chainConfig,
  id: 8453,
  name: 'OP stack',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [] } },
})

/** A client that gives each method one answer. */
function clientOf<chain extends Chain | undefined>(chain: chain, answers: Raw) {
  const request = async ({ method }: { method: string }) => answers[method]
  return createClient({ chain, transport: custom({ request } as never) })
}

const answering = (result: unknown) => createCallPort(() => ({ result }))
const blockOf = async (raw: unknown, block: 'latest' | 'pending' = 'latest') =>
  (await getBlockByNumber(answering(raw), { block })) as unknown as Raw
const fullOf = async (raw: unknown, block: 'latest' | 'pending' = 'latest') =>
  (await getBlockByNumber(answering(raw), { block, fullTransactions: true })) as unknown as Raw
const receiptsOf = async (raw: unknown) =>
  (await getBlockReceipts(answering(raw), { block: 'latest' })) as unknown as Raw[]

type Form = 'a bigint' | 'a number' | 'answered' | "viem's type" | 'a status'

/** The value that viem's types promise for an answer. */
function expected(form: Form, raw: unknown): unknown {
  if (form === 'answered') return raw
  if (form === 'a status') return raw === '0x1' ? 'success' : 'reverted'
  if (form === "viem's type") return TYPES[raw as keyof typeof TYPES]
  return form === 'a bigint' ? BigInt(raw as string) : Number(raw)
}
const TYPES = { '0x0': 'legacy', '0x1': 'eip2930', '0x2': 'eip1559', '0x3': 'eip4844', '0x4': 'eip7702' }

// Each field of the documented block, and its type in viem.
const BLOCK: Record<string, Form> = {
  number: 'a bigint',
  hash: 'answered',
  parentHash: 'answered',
  nonce: 'answered',
  sha3Uncles: 'answered',
  logsBloom: 'answered',
  transactionsRoot: 'answered',
  stateRoot: 'answered',
  receiptsRoot: 'answered',
  miner: 'answered',
  difficulty: 'a bigint',
  mixHash: 'answered',
  extraData: 'answered',
  size: 'a bigint',
  gasLimit: 'a bigint',
  gasUsed: 'a bigint',
  timestamp: 'a bigint',
  transactions: 'answered',
  uncles: 'answered',
  withdrawals: 'answered',
  withdrawalsRoot: 'answered',
  baseFeePerGas: 'a bigint',
  blobGasUsed: 'a bigint',
  excessBlobGas: 'a bigint',
  parentBeaconBlockRoot: 'answered',
  requestsHash: 'answered',
}

const TRANSACTION: Record<string, Form> = {
  hash: 'answered',
  type: "viem's type",
  chainId: 'a number',
  nonce: 'a number',
  from: 'answered',
  to: 'answered',
  value: 'a bigint',
  gas: 'a bigint',
  gasPrice: 'a bigint',
  maxFeePerGas: 'a bigint',
  maxPriorityFeePerGas: 'a bigint',
  maxFeePerBlobGas: 'a bigint',
  input: 'answered',
  accessList: 'answered',
  blobVersionedHashes: 'answered',
  v: 'a bigint',
  r: 'answered',
  s: 'answered',
  blockHash: 'answered',
  blockNumber: 'a bigint',
  transactionIndex: 'a number',
}

const RECEIPT: Record<string, Form> = {
  transactionHash: 'answered',
  transactionIndex: 'a number',
  blockHash: 'answered',
  blockNumber: 'a bigint',
  from: 'answered',
  to: 'answered',
  contractAddress: 'answered',
  cumulativeGasUsed: 'a bigint',
  gasUsed: 'a bigint',
  effectiveGasPrice: 'a bigint',
  logsBloom: 'answered',
  status: 'a status',
  type: "viem's type",
}

const sealed = [
  ...nodes.map(([name, { sealed }]) => [name, sealed.hashes as Raw] as const),
  ['OP Mainnet', optimism.block] as const,
]

describe.each(sealed)('a sealed block of %s', (_, raw) => {
  test.each(Object.entries(BLOCK))('has the field %s as %s', async (field, form) => {
    expect(raw).toHaveProperty(field)
    expect((await blockOf(raw))[field]).toEqual(expected(form, raw[field]))
  })

  test('loses no field', async () => {
    expect(Object.keys(await blockOf(raw))).toEqual(expect.arrayContaining(Object.keys(raw)))
  })
})

describe.each(nodes)('the transactions in a block of %s', (_, { sealed, types }) => {
  const raws = (sealed.full as { transactions: Raw[] }).transactions
  const decode = async () => (await fullOf(sealed.full)).transactions as Raw[]

  test('have the types that were sent', async () => {
    const sent = types.map((type) => TYPES[type as keyof typeof TYPES])
    expect((await decode()).map(({ type }) => type).sort()).toEqual(sent.sort())
  })

  test.each(Object.entries(TRANSACTION))('have the field %s as %s', async (field, form) => {
    const having = raws.flatMap((raw, at) => (field in raw ? [[raw[field], at] as const] : []))
    // Hardhat's block has no blob transaction.
    if (!types.includes('0x3') && /blob/i.test(field)) return
    expect(having.length).toBeGreaterThan(0)
    const decoded = await decode()
    for (const [value, at] of having) expect(decoded[at]?.[field]).toEqual(expected(form, value))
  })

  test('have the tuples of EIP-7702 with numbers', async () => {
    const at = raws.findIndex(({ type }) => type === '0x4')
    const [tuple] = (raws[at]?.authorizationList ?? []) as Raw[]
    expect((await decode())[at]?.authorizationList).toEqual([
      { ...tuple, chainId: Number(tuple?.chainId), nonce: 1, yParity: Number(tuple?.yParity) },
    ])
  })

  test('lose no field', async () => {
    const decoded = await decode()
    // viem removes the parity of a legacy transaction, and these are the only ones that it removes.
    for (const [at, raw] of raws.entries())
      expect(Object.keys(decoded[at] ?? {})).toEqual(expect.arrayContaining(Object.keys(raw)))
  })
})

describe('the number of a second', () => {
  test('of a transaction and of a log is a bigint, from a quantity of geth', async () => {
    const { sealed } = read<Recording>('geth')
    const [transaction] = (await fullOf(sealed.full)).transactions as Raw[]
    const { timestamp } = await blockOf(sealed.hashes)
    expect(transaction?.blockTimestamp).toBe(timestamp)
    const logs = (await receiptsOf(sealed.receipts)).flatMap(({ logs }) => logs as Raw[])
    expect(logs.map(({ blockTimestamp }) => blockTimestamp)).toEqual([timestamp])
  })

  test('of a receipt of anvil is a JSON number, and decoded too', async () => {
    const { sealed } = read<Recording>('anvil')
    expect((sealed.receipts as Raw[])[0]?.blockTimestamp).toBeTypeOf('number')
    const { timestamp } = await blockOf(sealed.hashes)
    for (const receipt of await receiptsOf(sealed.receipts)) expect(receipt.blockTimestamp).toBe(timestamp)
  })
})

// Hardhat 2.29 does not offer `eth_getBlockReceipts`.
describe.each(nodes.filter(([name]) => name !== 'hardhat'))(
  'the receipts of a block of %s',
  (_, { sealed }) => {
    const raws = sealed.receipts as Raw[]

    test.each(Object.entries(RECEIPT))('have the field %s as %s', async (field, form) => {
      const decoded = await receiptsOf(raws)
      for (const [at, raw] of raws.entries()) {
        expect(raw).toHaveProperty(field)
        expect(decoded[at]?.[field]).toEqual(expected(form, raw[field]))
      }
    })

    test('have the blob fields of a blob transaction as bigints', async () => {
      const raw = raws.find(({ type }) => type === '0x3')
      const receipt = (await receiptsOf(raws)).find(({ type }) => type === 'eip4844')
      expect(receipt).toMatchObject({
        blobGasUsed: BigInt(raw?.blobGasUsed as string),
        blobGasPrice: BigInt(raw?.blobGasPrice as string),
      })
    })

    test('have logs with numbers', async () => {
      const at = raws.findIndex(({ logs }) => (logs as Raw[]).length > 0)
      const [log] = (raws[at]?.logs ?? []) as Raw[]
      expect((await receiptsOf(raws))[at]?.logs).toMatchObject([
        {
          address: log?.address,
          topics: log?.topics,
          data: log?.data,
          blockHash: log?.blockHash,
          blockNumber: BigInt(log?.blockNumber as string),
          logIndex: Number(log?.logIndex),
          transactionHash: log?.transactionHash,
          transactionIndex: Number(log?.transactionIndex),
          removed: false,
        },
      ])
    })
  },
)

describe('a pending block', () => {
  test('of geth has neither hash, nonce nor miner, and its number', async () => {
    const raw = read<Recording>('geth').pending
    const block = await blockOf(raw.hashes, 'pending')
    expect(block).toMatchObject({
      number: BigInt((raw.hashes as Raw).number as string),
      hash: null,
      nonce: null,
      miner: undefined,
    })
    const full = (await fullOf(raw.full, 'pending')).transactions as Raw[]
    expect(full.map(({ hash }) => hash)).toEqual(block.transactions)
  })

  test('of Hardhat has no number, and its transactions have no place', async () => {
    const raw = read<Recording>('hardhat').pending
    const block = await fullOf(raw.full, 'pending')
    expect(block).toMatchObject({ number: null, nonce: null, mixHash: undefined })
    expect(block.transactions).not.toEqual([])
    for (const each of block.transactions as Raw[])
      expect(each).toMatchObject({ blockHash: null, blockNumber: null, transactionIndex: null })
  })

  // Built from the example in Base's specification of its flashblocks RPC (crates/flashblocks-rpc/spec.md of
  // base/base), which has no hash, no size and a short nonce; its dots are filled in from OP Mainnet.
  const { size: _, transactions: __, ...rest } = optimism.block
  const flashblock = {
    ...rest,
    hash: `0x${'0'.repeat(64)}`,
    number: '0x123',
    gasUsed: '0x5208',
    extraData: '0x',
    nonce: '0x0',
    transactions: [{ ...base.deposit, blockHash: `0x${'0'.repeat(64)}`, blockNumber: '0x123' }],
  }

  test('of flashblocks has 32 zero bytes as its hash, no size and a short nonce', async () => {
    const block = await fullOf(flashblock, 'pending')
    expect(block).toMatchObject({ number: 0x123n, hash: null, size: undefined, nonce: `0x${'0'.repeat(16)}` })
    expect(block.transactions).toMatchObject([
      { hash: base.deposit.hash, blockHash: null, blockNumber: 0x123n },
    ])
  })

  test('is reported by a watch with the same fields', async () => {
    const clock = createVirtualClock()
    const seen: unknown[] = []
    const client = clientOf(opStack, {
      eth_getBlockByNumber: { ...flashblock, transactions: [base.deposit.hash] },
    })
    const stop = watchPending(client, { clock, onBlock: (block) => seen.push(block) })
    await clock.advance(0)
    stop()
    expect(seen).toMatchObject([{ number: 0x123n, hash: null, transactions: [base.deposit.hash] }])
  })
})

describe('a deposit of the OP stack', () => {
  const block = { ...optimism.block, transactions: [base.deposit] }

  test('has its own fields with the formatter of the chain', async () => {
    const client = clientOf(opStack, { eth_getBlockByNumber: block })
    const read = await getBlockByNumber(client, { block: 'latest', fullTransactions: true })
    const [deposit] = read?.transactions ?? []
    expect(deposit).toMatchObject({
      type: 'deposit',
      typeHex: '0x7e',
      mint: 0n,
      sourceHash: base.deposit.sourceHash,
      from: base.deposit.from,
      nonce: 0x31bdea2,
      gas: 1_000_000n,
      value: 0n,
    })
  })

  test('keeps them as they came without a chain', async () => {
    const [deposit] = (await fullOf(block)).transactions as Raw[]
    expect(deposit).toMatchObject({ typeHex: '0x7e', mint: '0x0', sourceHash: base.deposit.sourceHash })
  })

  test('has a receipt with the fees of L1 and its nonce with the formatter of the chain', async () => {
    const client = clientOf(opStack, { eth_getBlockReceipts: [base.receipt] })
    const [receipt] = (await getBlockReceipts(client, { block: 'latest' })) ?? []
    expect(receipt).toMatchObject({
      type: '0x7e',
      status: 'success',
      l1Fee: 0n,
      l1GasPrice: 0xbe3256bn,
      l1GasUsed: 0x71dn,
      l1FeeScalar: null,
      depositNonce: 0x31bdea2n,
      depositReceiptVersion: 1,
      blobGasUsed: 0x4154n,
      // viem has no type for the fields since Ecotone.
      l1BaseFeeScalar: '0x8dd',
      daFootprintGasScalar: '0x94',
    })
  })
})

describe('milliseconds since the epoch', () => {
  // Built from Base's documentation of Denim ("Millisecond RPC Timestamps": `timestampMs` and
  // `blockTimestampMs` in blocks, transactions, logs and receipts) and from a test of base/base, which answers
  // 0x2710 beside the second 0xa.
  const ms = { timestampMs: '0x2710', blockTimestampMs: '0x2710' }
  const decoded = { timestampMs: 10_000n, blockTimestampMs: 10_000n }

  test('of a block and its transactions are bigints', async () => {
    const transactions = [{ ...base.deposit, ...ms }]
    const block = await fullOf({ ...optimism.block, timestamp: '0xa', timestampMs: '0x2710', transactions })
    expect(block).toMatchObject({ timestamp: 10n, timestampMs: 10_000n, transactions: [decoded] })
  })

  test('of a receipt and its logs are bigints', async () => {
    const { sealed } = read<Recording>('geth')
    const raw = (sealed.receipts as Raw[]).find(({ logs }) => (logs as Raw[]).length > 0)
    const logs = ((raw?.logs ?? []) as Raw[]).map((log) => ({ ...log, ...ms }))
    expect(await receiptsOf([{ ...raw, ...ms, logs }])).toMatchObject([{ ...decoded, logs: [decoded] }])
  })

  test('are missing on other chains', async () => {
    expect(await blockOf(read<Recording>('geth').sealed.hashes)).not.toHaveProperty('timestampMs')
  })
})

test('withdrawals have the fields of EIP-4895 as viem types them', async () => {
  // Built from EIP-4895: no chain that can run here withdraws, and blocks of the OP stack have none.
  const withdrawals = [
    { index: '0x1', validatorIndex: '0x2', address: `0x${'1'.repeat(40)}`, amount: '0x773594' },
  ]
  expect((await blockOf({ ...optimism.block, withdrawals })).withdrawals).toEqual(withdrawals)
})

test.each(nodes)('the state of a contract on %s is decoded', async (_, { state, sealed }) => {
  const { address, contract } = state
  expect(await getCode(answering(state.code), { address: contract, block: 'latest' })).toBe('0x01')
  expect(
    BigInt(await getStorageAt(answering(state.storage), { address: contract, slot: 0, block: 'latest' })),
  ).toBe(42n)
  expect(await getTransactionCount(answering(state.count), { address, block: 'latest' })).toBe(1)
  expect(sealed).toBeDefined()
})

describe('a field with a malformed value is an error that names it:', () => {
  const good = optimism.block
  test.each([
    ['withdrawals', { withdrawals: [{ index: 'x' }] }],
    ['withdrawals', { withdrawals: [5] }],
    ['uncles', { uncles: ['0x1'] }],
    ['nonce', { nonce: '0x00000000000000000' }],
    ['timestampMs', { timestampMs: 10_000 }],
    ['requestsHash', { requestsHash: '0x1' }],
    ['value of a transaction', { transactions: [{ ...base.deposit, value: '5' }] }],
    [
      'accessList of a transaction',
      { transactions: [{ ...base.deposit, accessList: [{ storageKeys: [1] }] }] },
    ],
    [
      'authorizationList of a transaction',
      { transactions: [{ ...base.deposit, authorizationList: [null] }] },
    ],
    [
      'blobVersionedHashes of a transaction',
      { transactions: [{ ...base.deposit, blobVersionedHashes: '0x' }] },
    ],
  ])('%s %j', async (field, fields) => {
    await expect(fullOf({ ...good, ...fields })).rejects.toMatchObject({
      failure: 'malformed',
      method: 'eth_getBlockByNumber',
      message: expect.stringContaining(field),
    })
  })

  test.each([
    ['effectiveGasPrice of a receipt', { effectiveGasPrice: 5 }],
    ['status', { status: '0x2' }],
    ['logs', { logs: {} }],
    ['topics of a log', { logs: [{ topics: ['0x7'] }] }],
  ])('%s %j', async (field, fields) => {
    await expect(receiptsOf([{ ...base.receipt, ...fields }])).rejects.toMatchObject({
      failure: 'malformed',
      method: 'eth_getBlockReceipts',
      message: expect.stringContaining(field),
    })
  })
})
