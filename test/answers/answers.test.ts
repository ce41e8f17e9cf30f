import { describe, expect, test } from 'vitest'
import { getCode, getStorageAt, getTransactionCount } from '../../src/rpc/methods/state.js'
import { answering, blockOf, fullOf, nodes, optimism, type Raw, read, receiptsOf } from './reading.js'
import type { Recording } from './record.js'

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

test.each(nodes)('the state of a contract on %s is decoded', async (_, { state, sealed }) => {
  const { address, contract } = state
  expect(await getCode(answering(state.code), { address: contract, block: 'latest' })).toBe('0x01')
  expect(
    BigInt(await getStorageAt(answering(state.storage), { address: contract, slot: 0, block: 'latest' })),
  ).toBe(42n)
  expect(await getTransactionCount(answering(state.count), { address, block: 'latest' })).toBe(1)
  expect(sealed).toBeDefined()
})
