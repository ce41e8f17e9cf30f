import { type Hex, hashMessage, type LocalAccount, type TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { chainConfig as celo } from 'viem/celo'
import { describe, expect, test } from 'vitest'
import type { TxlaneError } from '../errors/base.js'
import { type AwsKmsClient, type AwsKmsParameters, awsKmsAccount, awsKmsAccountIn } from './awsKms.js'
import {
  awsError,
  KEY,
  keyPair,
  type ScriptedAws,
  scriptedAws,
  spkiOf,
  virtualEnvironment,
} from './kms.fixture.js'

const plain = privateKeyToAccount(KEY)
const OTHER: Hex = `0x${'4c'.repeat(32)}`

const transfer = (nonce: number) =>
  ({
    type: 'eip1559',
    chainId: 8453,
    nonce,
    gas: 21_000n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 1_000_000n,
    to: '0x00000000000000000000000000000000000000aa',
    value: 1n,
  }) as const

async function accountOf(
  options: Parameters<typeof scriptedAws>[1] = {},
  given: Partial<AwsKmsParameters> = {},
) {
  const environment = virtualEnvironment()
  const client: ScriptedAws = scriptedAws(environment.clock, options)
  const account = await awsKmsAccountIn(environment, { client, keyId: 'alias/relayer', ...given })
  return { ...environment, client, account }
}

const thrown = (promise: Promise<unknown>): Promise<TxlaneError> =>
  promise.then(
    () => Promise.reject(new Error('it resolved')),
    (error: TxlaneError) => error,
  )

describe('the account of a key in AWS KMS', () => {
  test('has the address of its public key', async () => {
    const { account } = await accountOf()
    const { address, publicKey } = plain
    expect(account).toMatchObject({ address, publicKey, source: 'awsKms', type: 'local', signsAs: address })
  })

  const SIGNED: Readonly<Record<string, (account: LocalAccount) => Promise<unknown> | undefined>> = {
    'a transaction (EIP-1559)': (account) => account.signTransaction(transfer(7)),
    'a legacy transaction': (account) =>
      account.signTransaction({
        type: 'legacy',
        chainId: 1,
        nonce: 1,
        gas: 21_000n,
        gasPrice: 5n,
        to: plain.address,
      }),
    'a transaction with an access list': (account) =>
      account.signTransaction({ ...transfer(1), accessList: [{ address: plain.address, storageKeys: [] }] }),
    'a blob transaction': (account) =>
      account.signTransaction({
        ...transfer(1),
        type: 'eip4844',
        maxFeePerBlobGas: 5n,
        blobVersionedHashes: [`0x01${'ab'.repeat(31)}`],
        sidecars: [{ blob: '0xaa', commitment: '0xbb', proof: '0xcc' }],
      } as TransactionSerializable),
    'a transaction with authorizations': (account) =>
      account.signTransaction({
        ...transfer(1),
        type: 'eip7702',
        authorizationList: [{ address: plain.address, chainId: 1, nonce: 3, r: '0x1', s: '0x2', yParity: 0 }],
      }),
    'a transaction type with a serializer of its chain': (account) =>
      account.signTransaction({ ...transfer(1), type: 'cip64', feeCurrency: plain.address } as never, {
        serializer: celo.serializers.transaction as never,
      }),
    'a message': (account) => account.signMessage({ message: 'hello' }),
    'a message of bytes': (account) => account.signMessage({ message: { raw: '0x00ff' } }),
    'typed data': (account) =>
      account.signTypedData({
        domain: { name: 'Mail', chainId: 1 },
        types: { Mail: [{ name: 'text', type: 'string' }] },
        primaryType: 'Mail',
        message: { text: 'hello' },
      }),
    'an authorization': (account) =>
      account.signAuthorization?.({ address: plain.address, chainId: 0, nonce: 0 }),
    'a hash': (account) => account.sign?.({ hash: hashMessage('hello') }),
  }

  test.each(Object.entries(SIGNED))('signs %s as viem does', async (_, sign) => {
    const { account } = await accountOf()
    const expected = await sign(plain)
    expect(expected).toBeDefined()
    // The service returns the lower s the first time, and the higher one the second time.
    expect(await sign(account)).toEqual(expected)
    expect(await sign(account)).toEqual(expected)
  })

  test('gives a lane the hash with the bytes, even if many are signed in one turn', async () => {
    const { account, clock } = await accountOf({ ms: () => 50 })
    const signing = Promise.all(
      Array.from({ length: 40 }, (_, nonce) => account.signEnvelope(transfer(nonce))),
    )
    await clock.run()
    const signed = await signing
    for (const [nonce, { raw, hash }] of signed.entries()) {
      expect(raw).toBe(await plain.signTransaction(transfer(nonce)))
      expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    }
  })

  test('reads the public key once', async () => {
    let reads = 0
    const { clock, ...environment } = virtualEnvironment()
    const inner = scriptedAws(clock)
    const client: AwsKmsClient = {
      ...inner,
      getPublicKey(...given) {
        reads++
        return inner.getPublicKey(...given)
      },
    }
    const account = await awsKmsAccountIn({ ...environment, clock }, { client, keyId: 'key' })
    await account.signMessage({ message: 'a' })
    await account.signMessage({ message: 'b' })
    expect(reads).toBe(1)
  })
})

describe('concurrent signatures', () => {
  test('are limited by `concurrency`, and start in the order of the calls', async () => {
    for (const concurrency of [1, 3, 16]) {
      const { account, client, clock } = await accountOf({ ms: () => 50 }, { concurrency })
      const begunMs = clock.now()
      const done: number[] = []
      for (let nonce = 0; nonce < 48; nonce++)
        void Promise.resolve(account.signEnvelope(transfer(nonce))).then(() => done.push(nonce))
      await clock.run()
      expect(client.under.most).toBe(concurrency)
      expect(clock.now() - begunMs).toBe((48 / concurrency) * 50)
      expect(done).toEqual(Array.from({ length: 48 }, (_, nonce) => nonce))
    }
  })

  test('are limited to 16 by default', async () => {
    const { account, client, clock } = await accountOf({ ms: () => 50 })
    for (let nonce = 0; nonce < 40; nonce++) void account.signEnvelope(transfer(nonce))
    await clock.run()
    expect(client.under.most).toBe(16)
  })

  test('continue beside a throttled one, and after a failed one', async () => {
    const { account, clock } = await accountOf(
      { ms: () => 50, fails: (count) => (count === 0 ? awsError('DisabledException', 'no') : undefined) },
      { concurrency: 1 },
    )
    const failed = thrown(account.signMessage({ message: 'a' }))
    const signed = account.signMessage({ message: 'b' })
    await clock.run()
    expect(await failed).toMatchObject({ code: 'SIGNER' })
    expect(await signed).toBe(await plain.signMessage({ message: 'b' }))
  })
})

describe('a key that cannot sign for Ethereum', () => {
  const KEYS: readonly (readonly [string, object, string])[] = [
    [
      'of another curve',
      {
        PublicKey: keyPair('prime256v1').publicKey.export({ format: 'der', type: 'spki' }),
        KeySpec: 'ECC_NIST_P256',
        KeyUsage: 'SIGN_VERIFY',
      },
      'KeySpec ECC_NIST_P256, KeyUsage SIGN_VERIFY',
    ],
    [
      'that is not for signing',
      { PublicKey: spkiOf(KEY), KeySpec: 'ECC_SECG_P256K1', KeyUsage: 'KEY_AGREEMENT' },
      'KeyUsage KEY_AGREEMENT',
    ],
    ['without a public key', { KeySpec: 'SYMMETRIC_DEFAULT' }, 'KeySpec SYMMETRIC_DEFAULT'],
  ]
  test.each(KEYS)('%s is refused at once, with the message of the service', async (_, answer, said) => {
    const environment = virtualEnvironment()
    const client = { ...scriptedAws(environment.clock), getPublicKey: async () => answer }
    const error = await thrown(awsKmsAccountIn(environment, { client, keyId: 'key' }))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(error.message).toContain(said)
  })

  test.each(['DisabledException', 'KMSInvalidStateException', 'NotFoundException', 'AccessDeniedException'])(
    'for which the service answers %s is refused at once',
    async (name) => {
      const environment = virtualEnvironment()
      const refuses = () => Promise.reject(awsError(name, 'arn:aws:kms:eu-central-1:1:key/2 is disabled.'))
      const client = { ...scriptedAws(environment.clock), getPublicKey: refuses }
      const error = await thrown(awsKmsAccountIn(environment, { client, keyId: 'key' }))
      expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
      expect(error.message).toContain(`${name}: arn:aws:kms:eu-central-1:1:key/2 is disabled.`)
    },
  )

  test('is detected at the first signature if it was replaced by another key', async () => {
    const { account } = await accountOf({ key: OTHER })
    const error = await thrown(account.signTransaction(transfer(0)))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(error.message).toContain(plain.address)
  })

  test('is an error as well if the service returns no signature', async () => {
    const environment = virtualEnvironment()
    const client = { ...scriptedAws(environment.clock), sign: async () => ({}) }
    const account = await awsKmsAccountIn(environment, { client, keyId: 'key' })
    expect(await thrown(account.signMessage({ message: 'a' }))).toMatchObject({ code: 'SIGNER' })
  })
})

describe('an invalid argument', () => {
  const client = scriptedAws(virtualEnvironment().clock)
  const WRONG: readonly (readonly [unknown, string])[] = [
    [undefined, 'Invalid parameters'],
    [{ keyId: 'key' }, 'Invalid client'],
    [{ client: { send: () => {} }, keyId: 'key' }, 'not a KMSClient'],
    [{ client }, 'Invalid keyId'],
    [{ client, keyId: ' ' }, 'Invalid keyId'],
    [{ client, keyID: 'key' }, 'did you mean keyId?'],
    [{ client, keyId: 'key', concurency: 4 }, 'did you mean concurrency?'],
    [{ client, keyId: 'key', concurrency: 0 }, 'Invalid concurrency'],
    [{ client, keyId: 'key', concurrency: 1.5 }, 'Invalid concurrency'],
    [{ client, keyId: 'key', concurrency: '16' }, 'Invalid concurrency'],
    [{ client, keyId: 'key', timeoutMs: Number.NaN }, 'Invalid timeoutMs'],
    [{ client, keyId: 'key', timeoutMs: Number.POSITIVE_INFINITY }, 'Invalid timeoutMs'],
    [{ client, keyId: 'key', requestTimeoutMs: -1 }, 'Invalid requestTimeoutMs'],
    [{ client, keyId: 'key', logger: {} }, 'Invalid logger'],
    [{ client, keyId: 'key', logger: null }, 'Invalid logger'],
  ]
  test.each(WRONG)('is refused with its name: %o', async (parameters, said) => {
    const error = await thrown(awsKmsAccount(parameters as AwsKmsParameters))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(error.message).toContain(said)
  })
})
