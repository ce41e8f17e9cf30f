import fc from 'fast-check'
import {
  type AuthorizationRequest,
  type Hex,
  keccak256,
  type LocalAccount,
  numberToHex,
  type Signature,
  serializeTransaction,
  type TransactionSerializable,
} from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { chainConfig as celo } from 'viem/celo'
import { chainConfig as optimism } from 'viem/op-stack'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { isTxlaneError } from '../errors/base.js'
import { findEngine, loadNative, loadWasm, type SigningEngine } from './engine.js'
import { type NativeAccount, nativeAccount, nativeAccountWith, signingEngine } from './nativeAccount.js'

const KEY: Hex = `0x${'3b'.repeat(32)}`

// Each case signs twice, which dominates the time: a million cases take about ten minutes.
const CASES = runsOf(10_000)
const MS_A_CASE = 10

describe(`the same bytes as viem, ${CASES} cases`, { timeout: CASES * MS_A_CASE }, () => {
  test('55 of 100: transactions of every type', () =>
    check(0.55, fc.record({ key: keys, transaction: transactions }), async ({ key, transaction }) => {
      const { ours, theirs } = accountsOf(key)
      const expected = await theirs.signTransaction(transaction)
      expect(await ours.signTransaction(transaction)).toBe(expected)
      expect(await ours.signEnvelope(transaction)).toEqual({ raw: expected, hash: keccak256(expected) })
    }))

  test('15: messages', () =>
    check(0.15, fc.record({ key: keys, message: messages }), ({ key, message }) =>
      same(key, (account) => account.signMessage({ message })),
    ))

  test('15: hashes', () =>
    check(0.15, fc.record({ key: keys, hash: words }), ({ key, hash }) =>
      same(key, (account) => account.sign?.({ hash })),
    ))

  test('7.5: authorizations', () =>
    check(0.075, fc.record({ key: keys, authorization: authorizations }), ({ key, authorization }) =>
      same(key, (account) => account.signAuthorization?.(authorization)),
    ))

  test('7.5: typed data', () =>
    check(0.075, fc.record({ key: keys, typedData: mails }), ({ key, typedData }) =>
      same(key, (account) => account.signTypedData(typedData)),
    ))
})

describe('nativeAccount', () => {
  test("has the same address as viem's account for its key", () => {
    const [ours, theirs] = [nativeAccount(KEY), privateKeyToAccount(KEY)]
    const { address, publicKey, source, type } = theirs
    expect(ours).toMatchObject({ address, publicKey, source, type })
  })

  test('loads its engine when it is created, so that even its first transaction is signed at once', async () => {
    const engine: SigningEngine = {
      kind: 'native',
      sign: () => ({ rs: new Uint8Array(64).fill(1), yParity: 0 }),
      recover: () => null,
      keccak: (bytes) => keccak256(bytes, 'bytes'),
    }
    const found = Promise.resolve(engine)
    const account = nativeAccountWith(KEY, () => found)
    await found
    expect(account.signEnvelope(sample)).not.toBeInstanceOf(Promise)
  })

  test('tries the quick form of a transaction once, before and after its engine is loaded', async () => {
    const account = nativeAccount(KEY)
    let count = 0
    const { maxFeePerGas: gasPrice, maxPriorityFeePerGas: _, ...fields } = sample
    const transaction = {
      ...fields,
      gasPrice,
      get type() {
        count++
        return 'legacy'
      },
    } as TransactionSerializable
    const readsOfOne = async () => {
      count = 0
      return { signed: await account.signEnvelope(transaction), count }
    }
    const first = await readsOfOne()
    expect(await readsOfOne()).toEqual(first)
  })

  test('signs like the chain if the chain has its own serializer', async () => {
    const takesMoreGas = (transaction: TransactionSerializable, signature?: Signature) =>
      serializeTransaction({ ...transaction, gas: 42_000n } as TransactionSerializable, signature)
    const chains = [
      { serializer: celo.serializers.transaction, extra: { feeCurrency: sample.to, type: 'cip64' } },
      { serializer: celo.serializers.transaction, extra: { feeCurrency: sample.to } },
      { serializer: celo.serializers.transaction, extra: {} },
      { serializer: optimism.serializers.transaction, extra: {} },
      { serializer: takesMoreGas, extra: {} },
    ]
    for (const { serializer, extra } of chains) {
      const transaction = { ...sample, ...extra } as never
      await same(KEY, (account) => account.signTransaction(transaction, { serializer } as never))
    }
  })

  test('refuses the same requests as viem, with the same messages', async () => {
    const wrong: readonly object[] = [
      { chainId: 0 },
      { to: '0x12' },
      { to: `0x${'Ab'.repeat(20)}` },
      { maxPriorityFeePerGas: sample.maxFeePerGas + 1n },
      { maxFeePerGas: 2n ** 256n },
      { value: -1n },
      { nonce: -1 },
      { nonce: 1.5 },
    ]
    const { ours, theirs } = accountsOf(KEY)
    for (const fields of wrong) {
      const transaction = { ...sample, ...fields } as TransactionSerializable
      const expected = await theirs.signTransaction(transaction).catch((error: Error) => error)
      expect(expected).toBeInstanceOf(Error)
      await expect(ours.signTransaction(transaction)).rejects.toThrow((expected as Error).message)
    }
  })

  test('signs the same lenient inputs as viem', async () => {
    const odd: readonly object[] = [
      { to: null },
      { data: '0x' },
      { data: '0x7' },
      { data: '0x00' },
      { data: '0x80' },
      { accessList: [] },
      { value: 2n ** 256n },
      { value: 2n ** 256n - 1n },
      { value: 2n ** 53n },
      { maxFeePerGas: undefined },
      { value: 5, gas: 21_000 },
    ]
    for (const fields of odd) {
      const transaction = { ...sample, ...fields } as TransactionSerializable
      await same(KEY, (account) => account.signTransaction(transaction))
    }
  })

  test('signs a blob transaction without its blobs, and returns it with them', async () => {
    const transaction: TransactionSerializable = {
      ...sample,
      type: 'eip4844',
      maxFeePerBlobGas: 5n,
      blobVersionedHashes: [`0x01${'ab'.repeat(31)}`],
      sidecars: [{ blob: '0xaa', commitment: '0xbb', proof: '0xcc' }],
    }
    await same(KEY, (account) => account.signTransaction(transaction))
  })

  test('signs a signed transaction again, as viem does', async () => {
    const transaction = {
      ...sample,
      r: `0x${'11'.repeat(32)}`,
      s: `0x${'22'.repeat(32)}`,
      v: 27n,
    } as TransactionSerializable
    await same(KEY, (account) => account.signTransaction(transaction))
  })

  test('refuses an invalid private key, and shows nothing of it', () => {
    const wrong = [
      '0x',
      `0x${'00'.repeat(32)}`,
      `0x${'ff'.repeat(32)}`,
      KEY.slice(2),
      `${KEY}00`,
      7,
      undefined,
    ]
    for (const value of wrong) {
      const error = thrown(() => nativeAccount(value as Hex))
      expect(isTxlaneError(error) && error.code).toBe('INVALID')
      const text = `${(error as Error).stack} ${JSON.stringify(error)}`
      expect(text).toContain('privateKey')
      for (const secret of [KEY.slice(2), 'ff'.repeat(32)]) expect(text).not.toContain(secret)
    }
  })
})

describe('the engine', () => {
  test('is native on this machine', async () => {
    expect(await signingEngine()).toBe('native')
  })

  test('is WebAssembly where the addon is missing, with the same bytes', async () => {
    const engine = await findEngine([missing, loadWasm])
    expect(engine?.kind).toBe('wasm')
    const ours = nativeAccountWith(KEY, async () => engine)
    await same(KEY, (account) => account.signTransaction(sample), ours)
  })

  test('is viem’s own if no other is available', async () => {
    expect(await findEngine([missing, missing])).toBeUndefined()
    const ours = nativeAccountWith(KEY, async () => undefined)
    const raw = await privateKeyToAccount(KEY).signTransaction(sample)
    expect(await ours.signEnvelope(sample)).toEqual({ raw, hash: keccak256(raw) })
    await same(KEY, (account) => account.signMessage({ message: 'a' }), ours)
  })

  test('is not used if it returns other bytes', async () => {
    const native = await loadNative()
    const wrong: readonly Partial<SigningEngine>[] = [
      { sign: (hash, key) => ({ ...native.sign(hash, key), yParity: 2 }) },
      { sign: () => ({ rs: new Uint8Array(64), yParity: 0 }) },
      { keccak: (bytes) => native.keccak(bytes).fill(0) },
      { recover: () => null },
      { recover: (hash, { rs, yParity }) => native.recover(hash, { rs, yParity: 1 - yParity }) },
      {
        recover: () => {
          throw new Error('not for this machine')
        },
      },
    ]
    for (const part of wrong) expect(await findEngine([async () => ({ ...native, ...part })])).toBeUndefined()
    expect(await findEngine([async () => native])).toBe(native)
  })
})

const sample = {
  type: 'eip1559',
  chainId: 8453,
  nonce: 7,
  gas: 21_000n,
  maxFeePerGas: 2_000_000_000n,
  maxPriorityFeePerGas: 1_000_000n,
  to: '0x00000000000000000000000000000000000000aa',
  value: 1n,
} as const

const missing = () => Promise.reject(new Error('Cannot find module'))

/** Checks that both accounts return or throw the same. */
async function same(
  key: Hex,
  work: (account: LocalAccount) => Promise<unknown> | undefined,
  ours: LocalAccount = accountsOf(key).ours,
): Promise<void> {
  const expected = await work(accountsOf(key).theirs)
  expect(expected).toBeDefined()
  expect(await work(ours)).toEqual(expected)
}

// Cached, because creating an account costs as much as signing with it.
const made = new Map<Hex, { ours: NativeAccount; theirs: PrivateKeyAccount }>()
function accountsOf(key: Hex): { ours: NativeAccount; theirs: PrivateKeyAccount } {
  const known = made.get(key) ?? { ours: nativeAccount(key), theirs: privateKeyToAccount(key) }
  made.set(key, known)
  return known
}

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** Runs `part` of all cases. */
function check<T>(part: number, cases: fc.Arbitrary<T>, holds: (one: T) => Promise<void>): Promise<void> {
  return fc.assert(fc.asyncProperty(cases, holds), { numRuns: Math.ceil(part * CASES) })
}

// --- generated inputs
// ----------------------------------------------------------------------------------------

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const hex = (bytes: { minLength: number; maxLength: number }): fc.Arbitrary<Hex> =>
  fc.uint8Array(bytes).map((array): Hex => `0x${Buffer.from(array).toString('hex')}`)
const exactly = (length: number) => hex({ minLength: length, maxLength: length })
const words = exactly(32)
// The smallest and the largest key, and a hundred in between.
const keys = fc.nat(101).map((index): Hex => {
  const key = index < 2 ? [1n, ORDER - 1n][index] : BigInt(keccak256(numberToHex(index))) % ORDER
  return numberToHex(key as bigint, { size: 32 })
})
const addresses = exactly(20)
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined })
const wei = fc.bigInt({ min: 0n, max: 2n ** 100n })
// Lengths around 56, 256 and 65,536 bytes, at which the form of a list changes.
const data = fc.oneof(
  { weight: 100, arbitrary: hex({ minLength: 0, maxLength: 300 }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 60_000, max: 70_000 }).map((size): Hex => `0x${'5a'.repeat(size)}`),
  },
)
const accessLists = fc.array(
  fc.record({ address: addresses, storageKeys: fc.array(words, { maxLength: 3 }) }),
  { maxLength: 3 },
)
const chainIds = fc.oneof(fc.integer({ min: 1, max: 2 ** 32 }), fc.constantFrom(1, 127, 128, 255, 256, 8453))
const common = {
  nonce: maybe(fc.integer({ min: 0, max: 2 ** 40 })),
  gas: maybe(fc.bigInt({ min: 0n, max: 2n ** 40n })),
  to: maybe(addresses),
  value: maybe(wei),
  data: maybe(data),
}
const fees = fc.tuple(wei, wei).map(([one, other]) => ({
  maxFeePerGas: one > other ? one : other,
  maxPriorityFeePerGas: one > other ? other : one,
}))
const signedAuthorizations = fc.record({
  address: addresses,
  chainId: fc.nat(2 ** 31),
  nonce: fc.nat(2 ** 31),
  r: words,
  s: words,
  yParity: fc.nat(1),
})
const typed = { chainId: chainIds, ...common }
const withFees = <T extends object>(one: fc.Arbitrary<T>) =>
  fc.tuple(one, fees).map(([fields, offer]) => ({ ...fields, ...offer }))
const transactions = fc.oneof(
  fc.record({
    type: fc.constant('legacy'),
    ...common,
    chainId: maybe(chainIds),
    gasPrice: wei,
  }),
  fc.record({ type: fc.constant('eip2930'), ...typed, gasPrice: wei, accessList: accessLists }),
  withFees(fc.record({ type: fc.constant('eip1559'), ...typed, accessList: maybe(accessLists) })),
  withFees(fc.record({ type: fc.constant('eip1559'), ...typed })),
  withFees(
    fc.record({
      type: fc.constant('eip7702'),
      ...typed,
      authorizationList: fc.array(signedAuthorizations, { maxLength: 3 }),
    }),
  ),
  withFees(
    fc.record({
      type: fc.constant('eip4844'),
      ...typed,
      to: addresses,
      maxFeePerBlobGas: fc.bigInt({ min: 1n, max: 2n ** 60n }),
      blobVersionedHashes: fc.array(
        exactly(31).map((rest): Hex => `0x01${rest.slice(2)}`),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  ),
) as fc.Arbitrary<TransactionSerializable>
const messages = fc.oneof(
  fc.string(),
  data.map((raw) => ({ raw })),
)
const authorizations = fc.oneof(
  fc.record({ address: addresses, chainId: fc.nat(2 ** 31), nonce: fc.nat(2 ** 31) }),
  fc.record({ contractAddress: addresses, chainId: fc.nat(2 ** 31), nonce: fc.nat(2 ** 31) }),
) as fc.Arbitrary<AuthorizationRequest>
const mails = fc.record({ to: addresses, contents: fc.string(), chainId: chainIds }).map(
  ({ to, contents, chainId }) =>
    ({
      domain: { name: 'Mail', version: '1', chainId, verifyingContract: to },
      types: {
        Mail: [
          { name: 'to', type: 'address' },
          { name: 'contents', type: 'string' },
        ],
      },
      primaryType: 'Mail',
      message: { to, contents },
    }) as const,
)
