import { type Chain, createClient, custom, defineChain } from 'viem'
import { chainConfig } from 'viem/op-stack'
import { describe, expect, test } from 'vitest'
import { getBlockByNumber } from '../../src/rpc/methods/getBlockByNumber.js'
import { getBlockReceipts } from '../../src/rpc/methods/getBlockReceipts.js'
import { watchPending } from '../../src/rpc/methods/polls.js'
import { createVirtualClock } from '../sim/virtualClock.js'
import { base, blockOf, fullOf, optimism, type Raw, read, receiptsOf } from './reading.js'
import type { Recording } from './record.js'

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

  test.each([
    ['number', 'a bigint'],
    ['hash', 'answered'],
    ['gasUsed', 'a bigint'],
    ['transactions', 'answered'],
    ['blobGasUsed', 'a bigint'],
  ] as const)('of anvil has the field %s of the block built so far as %s', async (field, form) => {
    const raw = read<Recording>('anvil').pending.hashes as Raw
    expect(raw[field]).not.toBe('0x0')
    expect((await blockOf(raw, 'pending'))[field]).toEqual(
      form === 'answered' ? raw[field] : BigInt(raw[field] as string),
    )
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

test('an unknown block is null, and so are its receipts', async () => {
  expect(await blockOf(null)).toBeNull()
  expect(await receiptsOf(null)).toBeNull()
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

describe('a field with a malformed value is an error that names it:', () => {
  const good = optimism.block

  test.each(Object.keys(good))('%s of a block', async (field) => {
    await expect(fullOf({ ...good, [field]: 5 })).rejects.toMatchObject({
      failure: 'malformed',
      method: 'eth_getBlockByNumber',
      message: expect.stringContaining(field),
    })
  })

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
