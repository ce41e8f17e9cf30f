import type { Hex, LocalAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TxlaneError } from '../../src/index.js'
import { startAws } from './services/aws.js'
import { startAzure } from './services/azure.js'
import { startGoogle } from './services/google.js'
import type { Reply, ScriptedService } from './services/service.js'
import { startWeb3Signer } from './services/web3Signer.js'

const KEY: Hex = `0x${'3b'.repeat(32)}`
const plain = privateKeyToAccount(KEY)

const transfer = {
  type: 'eip1559',
  chainId: 8453,
  nonce: 7,
  gas: 21_000n,
  maxFeePerGas: 2_000_000_000n,
  maxPriorityFeePerGas: 1_000_000n,
  to: '0x00000000000000000000000000000000000000aa',
  value: 1n,
} as const

const SIGNED: readonly ((account: LocalAccount) => Promise<unknown> | undefined)[] = [
  (account) => account.signTransaction(transfer),
  (account) => account.signTransaction({ type: 'legacy', chainId: 1, gas: 21_000n, gasPrice: 5n }),
  (account) => account.signMessage({ message: 'hello' }),
  (account) => account.signMessage({ message: { raw: '0x00ff' } }),
  (account) => account.signAuthorization?.({ address: plain.address, chainId: 0, nonce: 3 }),
  (account) =>
    account.signTypedData({
      domain: { name: 'Mail', chainId: 1, verifyingContract: plain.address },
      types: { Mail: [{ name: 'text', type: 'string' }] },
      primaryType: 'Mail',
      message: { text: 'hello' },
    }),
  (account) =>
    account.signTypedData({ domain: { name: 'Mail' }, types: {}, primaryType: 'EIP712Domain' } as never),
]

const thrown = (promise: Promise<unknown>): Promise<TxlaneError> =>
  promise.then(
    () => Promise.reject(new Error('it resolved')),
    (error: TxlaneError) => error,
  )

const firstThen =
  (first: Reply, then: Reply, times = 1) =>
  (count: number) =>
    count < times ? first : then

describe.each([
  { name: 'AWS KMS', start: startAws, words: 'pending deletion' },
  { name: 'Google Cloud KMS', start: startGoogle, words: 'is not enabled' },
  { name: 'Azure Key Vault', start: startAzure, words: 'Operation is not allowed on a disabled key' },
  { name: 'Web3Signer', start: startWeb3Signer, words: 'HTTP 400: Bad request format' },
])('$name', ({ name, start, words }) => {
  let service: ScriptedService
  beforeEach(async () => {
    service = await start(KEY)
  })
  afterEach(() => service[Symbol.asyncDispose]())

  test('signs the same bytes as viem', async () => {
    const account = await service.account()
    expect(account).toMatchObject({ address: plain.address, publicKey: plain.publicKey, type: 'local' })
    for (const sign of SIGNED) {
      const expected = await sign(plain)
      expect(expected).toBeDefined()
      expect(await sign(account)).toEqual(expected)
    }
  })

  test.each(['throttles', 'fails', 'drops'] as const)('that %s is retried until it signs', async (reply) => {
    const account = await service.account()
    service.reply = firstThen(reply, 'signs', 2)
    expect(await account.signTransaction(transfer)).toBe(await plain.signTransaction(transfer))
    expect(service.asked).toBe(3)
  })

  test('that hangs is retried until it signs', async () => {
    const account = await service.account({ requestTimeoutMs: 300 })
    service.reply = firstThen('hangs', 'signs')
    expect(await account.signTransaction(transfer)).toBe(await plain.signTransaction(transfer))
    expect(service.asked).toBe(2)
  })

  test('that throttles permanently fails the transaction with SIGNER, notExecuted, and its message', async () => {
    const account = await service.account({ timeoutMs: 2_000 })
    service.reply = () => 'throttles'
    const error = await thrown(account.signTransaction(transfer))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(error.message).toContain(`${name} did not sign for ${plain.address} in 2000 ms`)
    expect(error.details).toMatch(/ThrottlingException|RESOURCE_EXHAUSTED|Throttled|429/)
    expect(service.asked).toBeGreaterThan(1)
  })

  test('that refuses is not retried, and is quoted', async () => {
    const account = await service.account()
    service.reply = () => 'refuses'
    const error = await thrown(account.signTransaction(transfer))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(error.details).toContain(words)
    expect(service.asked).toBe(1)
  })

  test('that signs with another key is detected', async () => {
    const account = await service.account()
    service.reply = () => 'signsAsAnother'
    const error = await thrown(account.signTransaction(transfer))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(error.message).toContain(`does not belong to the key of ${plain.address}`)
  })

  test.each(['otherCurve', 'disabled'] as const)(
    'with a key that is %s is refused when the account is made',
    async (key) => {
      service.key = key
      const error = await thrown(service.account())
      expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
      expect(error.message).toContain(name)
      expect(error.details).not.toBe('')
      expect(service.asked).toBe(0)
    },
  )

  test('gets no more concurrent requests than `concurrency` allows', async () => {
    const account = await service.account({ concurrency: 3, requestTimeoutMs: 300, timeoutMs: 300 })
    service.reply = () => 'hangs'
    const signing = Array.from({ length: 9 }, (_, nonce) => account.signTransaction({ ...transfer, nonce }))
    const ended = await Promise.allSettled(signing)
    expect(ended.every(({ status }) => status === 'rejected')).toBe(true)
    // Hanging requests are never answered: those after the first three came after the first were given up.
    expect(service.asked).toBe(9)
  })
})
