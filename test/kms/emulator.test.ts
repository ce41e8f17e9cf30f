import { KMS } from '@aws-sdk/client-kms'
import { parseEther, recoverMessageAddress, verifyTypedData } from 'viem'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createSender } from '../../src/index.js'
import { awsKmsAccount } from '../../src/kms/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { startLocalKms } from './emulator/localKms.js'

// test/support/localKmsFound.ts searches for it once for the whole run, and prints one line if there is none.
const file = inject('localKms')

describe.skipIf(file === undefined)('a lane whose key is in an emulator of AWS KMS', () => {
  let emulator: Awaited<ReturnType<typeof startLocalKms>>
  let devnet: Devnet
  let kms: KMS

  beforeAll(async () => {
    ;[emulator, devnet] = await Promise.all([
      startLocalKms(file as string),
      startDevnet({ rules: 'geth', blockTimeMs: 200 }),
    ])
    kms = new KMS({
      region: 'eu-central-1',
      endpoint: emulator.url,
      credentials: { accessKeyId: 'id', secretAccessKey: 'of a test' },
      maxAttempts: 1,
    })
  })
  afterAll(async () => {
    kms.destroy()
    await Promise.all([emulator[Symbol.asyncDispose](), devnet.stop()])
  })

  async function newKey(KeySpec: 'ECC_SECG_P256K1' | 'ECC_NIST_P256' = 'ECC_SECG_P256K1'): Promise<string> {
    const { KeyMetadata } = await kms.createKey({ KeySpec, KeyUsage: 'SIGN_VERIFY' })
    return KeyMetadata?.KeyId ?? ''
  }

  test('signs transactions that recover to its address', async () => {
    const account = await awsKmsAccount({ client: kms, keyId: await newKey() })
    const signature = await account.signMessage({ message: 'hello' })
    expect(await recoverMessageAddress({ message: 'hello', signature })).toBe(account.address)
    const typedData = {
      domain: { name: 'Mail', chainId: 1 },
      types: { Mail: [{ name: 'text', type: 'string' }] },
      primaryType: 'Mail',
      message: { text: 'hello' },
    } as const
    const typedSignature = await account.signTypedData(typedData)
    expect(await verifyTypedData({ ...typedData, address: account.address, signature: typedSignature })).toBe(
      true,
    )
  })

  test('lands each transaction of a burst once, and continues without a gap after its key was disabled for a while', async () => {
    const keyId = await newKey()
    const account = await awsKmsAccount({ client: kms, keyId, timeoutMs: 2_000 })
    const client = devnet.client(0)
    await client.waitForTransactionReceipt({
      hash: await client.sendTransaction({ to: account.address, value: parseEther('1') } as never),
    })
    await using sender = createSender({ client, account, lossDepth: 'child', coldStart: 'immediate' })
    const burst = (count: number) =>
      Array.from({ length: count }, () => sender.send({ to: account.address, value: 1n, gas: 21_000n }))

    const first = await Promise.all(burst(40))
    await kms.disableKey({ KeyId: keyId })
    for (const ended of await Promise.allSettled(burst(20))) {
      const { reason } = ended as PromiseRejectedResult
      expect(reason).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
      expect(String(reason)).toMatch(/DisabledException: .* is disabled\./)
    }
    await kms.enableKey({ KeyId: keyId })
    const last = await Promise.all(burst(20))
    const landed = await Promise.all([...first, ...last].map((tx) => tx.wait('sealed')))
    await sender.drain()
    const nonces = landed.map(({ nonce }) => nonce)
    expect(new Set(nonces).size).toBe(60)
    const { holes, floor, cursor } = await sender.snapshot()
    expect({ holes, floor }).toEqual({ holes: [], floor: cursor })
    expect(Math.max(...nonces)).toBeLessThan(cursor)
  })

  test('does not open if the key is missing or of another kind', async () => {
    for (const keyId of [await newKey('ECC_NIST_P256'), 'alias/none']) {
      const error = await awsKmsAccount({ client: kms, keyId }).catch((thrown: Error) => thrown)
      expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
      expect(String(error)).toMatch(/ECC_NIST_P256|NotFoundException/)
    }
  })
})
