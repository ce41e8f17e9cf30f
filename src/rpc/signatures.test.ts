import {
  type Hex,
  keccak256,
  numberToHex,
  parseGwei,
  parseTransaction,
  type TransactionSerializable,
  zeroAddress,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { signatures } from './signatures.js'

const account = privateKeyToAccount(`0x${'4c'.repeat(32)}`)
const other = privateKeyToAccount(`0x${'5d'.repeat(32)}`)
const TO = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
const SLOT: Hex = `0x${'01'.repeat(32)}`
const CHAIN_ID = 8453
const fees = { maxFeePerGas: parseGwei('3'), maxPriorityFeePerGas: parseGwei('1') }
const common = { chainId: CHAIN_ID, nonce: 7, gas: 90_000n, to: TO, value: 5n, data: '0x1234' } as const

const tuple = (over: { nonce?: number; chainId?: number } = {}) =>
  account.signAuthorization({ chainId: CHAIN_ID, nonce: 8, address: TO, ...over })

/** One of each transaction type that an account signs. */
async function envelopes(): Promise<Record<string, TransactionSerializable>> {
  const accessList = [{ address: zeroAddress, storageKeys: [SLOT] }] as const
  return {
    legacy: { ...common, type: 'legacy', gasPrice: parseGwei('2') },
    'legacy without a chain id': { ...common, chainId: undefined, type: 'legacy', gasPrice: 1n },
    eip2930: { ...common, type: 'eip2930', gasPrice: parseGwei('2'), accessList },
    eip1559: { ...common, type: 'eip1559', ...fees, accessList },
    'a creation': { ...common, to: undefined, type: 'eip1559', ...fees },
    eip4844: {
      ...common,
      type: 'eip4844',
      ...fees,
      maxFeePerBlobGas: 9n,
      blobVersionedHashes: [`0x01${'ab'.repeat(31)}`],
    },
    eip7702: {
      ...common,
      type: 'eip7702',
      ...fees,
      authorizationList: [await tuple(), await tuple({ chainId: 0 })],
    },
  }
}

const TYPES: Record<string, Hex> = {
  legacy: '0x0',
  eip2930: '0x1',
  eip1559: '0x2',
  eip4844: '0x3',
  eip7702: '0x4',
}

/**
 * The form in which a node shows it in a block body (execution-apis, `TransactionInfo`): the fees and the
 * price that the block paid.
 */
function shown(raw: Hex): Record<string, unknown> {
  const { type, r, s, v, yParity, data, authorizationList, ...fields } = parseTransaction(raw) as Record<
    string,
    unknown
  > & { type: string }
  const numbers = Object.entries({ ...fields, v }).map(([name, value]) => [
    name,
    typeof value === 'bigint' || typeof value === 'number' ? numberToHex(value) : value,
  ])
  return {
    ...Object.fromEntries(numbers.filter(([, value]) => value !== undefined)),
    type: TYPES[type],
    hash: keccak256(raw),
    from: account.address.toLowerCase(),
    to: fields.to ?? null,
    nonce: numberToHex(Number(fields.nonce ?? 0)),
    gasPrice: numberToHex((fields.gasPrice as bigint | undefined) ?? 7n),
    input: data ?? '0x',
    r,
    s,
    ...(type === 'legacy' ? {} : { v: numberToHex(Number(yParity)), yParity: numberToHex(Number(yParity)) }),
    ...(authorizationList
      ? { authorizationList: (authorizationList as readonly object[]).map(shownTuple) }
      : {}),
    blockHash: SLOT,
    blockNumber: '0x10',
    transactionIndex: '0x0',
  }
}

function shownTuple(one: object): Record<string, unknown> {
  const { chainId, nonce, address, r, s, yParity } = one as Awaited<ReturnType<typeof tuple>>
  return {
    chainId: numberToHex(chainId),
    nonce: numberToHex(nonce),
    address,
    r,
    s,
    yParity: numberToHex(Number(yParity)),
  }
}

const signed = async (): Promise<[string, Record<string, unknown>][]> =>
  Promise.all(
    Object.entries(await envelopes()).map(
      async ([name, envelope]): Promise<[string, Record<string, unknown>]> => [
        name,
        shown(await account.signTransaction(envelope)),
      ],
    ),
  )

describe('signerOf', () => {
  test('gives the signer for each signed transaction type, in the form that a node shows', async () => {
    const all = await signed()
    expect(all).toHaveLength(7)
    for (const [name, transaction] of all)
      expect(await signatures.signerOf(transaction), name).toBe(account.address)
  })

  test("does not trust `from`: a transaction signed by another key has that key's address", async () => {
    const [envelope] = [(await envelopes()).eip1559 as TransactionSerializable]
    const forged = { ...shown(await other.signTransaction(envelope)), from: account.address }
    expect(await signatures.signerOf(forged)).toBe(other.address)
  })

  test('gives no signer if any signed field or the hash was changed', async () => {
    const changes: Record<string, unknown> = {
      nonce: '0x9',
      to: zeroAddress,
      value: '0x6',
      gas: '0x15f91',
      input: '0x1235',
      hash: SLOT,
      r: SLOT,
      s: SLOT,
    }
    for (const [name, transaction] of await signed()) {
      for (const [field, value] of Object.entries(changes)) {
        const changed = { ...transaction, [field]: value }
        expect(await signatures.signerOf(changed), `${name}: ${field}`).toBeUndefined()
      }
    }
  })

  test('ignores the price that the block paid if the fees are there', async () => {
    for (const [name, transaction] of await signed()) {
      const isSigned = transaction.type === '0x0' || transaction.type === '0x1'
      const found = await signatures.signerOf({ ...transaction, gasPrice: '0x63' })
      expect(found, name).toBe(isSigned ? undefined : account.address)
    }
  })

  test('accepts the variants of nodes: no type, no parity, a parity beside the `v` of a legacy one, an upper case hash', async () => {
    const byName = new Map(await signed())
    const { type: _, ...untyped } = byName.get('legacy') ?? {}
    const { yParity: __, ...withoutParity } = byName.get('eip1559') ?? {}
    const legacy = byName.get('legacy') ?? {}
    const parity = numberToHex((BigInt(legacy.v as Hex) - 35n) % 2n)
    const bare = byName.get('legacy without a chain id') ?? {}
    const capitals = { ...legacy, hash: `0x${String(legacy.hash).slice(2).toUpperCase()}` }
    const variants = {
      untyped,
      nullTyped: { ...legacy, type: null },
      withoutParity,
      withParity: { ...legacy, yParity: parity },
      capitals,
      // Some nodes show their chain id beside a transaction that was signed without one.
      chainBeside: { ...bare, chainId: numberToHex(CHAIN_ID) },
    }
    for (const [name, one] of Object.entries(variants))
      expect(await signatures.signerOf(one), name).toBe(account.address)
  })

  test('gives `unsigned` for a type without an account signature', async () => {
    for (const type of ['0x7e', '0x64', '0x6a', '0x71'])
      expect(await signatures.signerOf({ type, from: account.address, hash: SLOT })).toBe('unsigned')
  })

  test('gives no signer for bytes that are no transaction', async () => {
    for (const one of [{}, { type: '0x2' }, { type: '0x2', r: 5, s: null, hash: 7 }, { type: '0x0', to: {} }])
      expect(await signatures.signerOf(one)).toBeUndefined()
  })
})

describe('authorityOf', () => {
  test('gives the signer of a tuple, for one chain or for all', async () => {
    for (const over of [{}, { chainId: 0 }, { nonce: 0 }, { nonce: 2 ** 40 }])
      expect(await signatures.authorityOf(shownTuple(await tuple(over)))).toBe(account.address)
  })

  test('accepts a parity named v', async () => {
    const { yParity, ...rest } = shownTuple(await tuple())
    expect(await signatures.authorityOf({ ...rest, v: yParity })).toBe(account.address)
  })

  test('does not give the account if a field of the tuple was changed', async () => {
    const real = shownTuple(await tuple())
    for (const change of [{ nonce: '0x9' }, { chainId: '0x1' }, { address: zeroAddress }, { r: SLOT }])
      expect(await signatures.authorityOf({ ...real, ...change })).not.toBe(account.address)
  })

  test('rejects a signature in the upper half of the curve, because the chain skips such a tuple (EIP-7702)', async () => {
    const { s, yParity, ...rest } = shownTuple(await tuple())
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const mirrored = {
      ...rest,
      s: numberToHex(order - BigInt(s as Hex), { size: 32 }),
      yParity: yParity === '0x0' ? '0x1' : '0x0',
    }
    expect(await signatures.authorityOf(mirrored)).toBeUndefined()
  })

  test('gives no signer for a value that is no tuple', async () => {
    for (const one of [
      null,
      undefined,
      5,
      'x',
      {},
      { chainId: '0x1', nonce: '0x1', address: '0x', r: '0x', s: '0x' },
    ])
      expect(await signatures.authorityOf(one)).toBeUndefined()
  })
})
