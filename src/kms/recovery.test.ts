import { secp256k1 } from '@noble/curves/secp256k1'
import fc from 'fast-check'
import { type Hex, hexToBytes, numberToHex, recoverAddress } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { compact, fieldsOf, loadNative, loadWasm, type SigningEngine } from '../signer/engine.js'
import { hexOf } from '../signer/hex.js'
import { derOf, KEY } from './kms.fixture.js'
import { signatureFrom } from './serviceAccount.js'

const RUNS = runsOf(40)
const { n: ORDER } = secp256k1.CURVE
const ENGINES: Readonly<Record<string, () => Promise<SigningEngine | undefined>>> = {
  native: loadNative,
  wasm: loadWasm,
  javascript: async () => undefined,
}

const keys = fc.bigInt({ min: 1n, max: ORDER - 1n }).map((key): Hex => numberToHex(key, { size: 32 }))
const hashes = fc.uint8Array({ minLength: 32, maxLength: 32 })
const publicKeyOf = (key: Hex) => secp256k1.getPublicKey(hexToBytes(key), false)

describe.each(Object.entries(ENGINES))('a signature, converted with %s code', (_, load) => {
  test('has the lower s and the parity of its key, in every form that a service returns', async () => {
    const engine = await load()
    const cases = fc.record({ key: keys, hash: hashes, isHigh: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(cases, async ({ key, hash, isHigh }) => {
        const expected = await sign({ hash: hexOf(hash), privateKey: key })
        const der = derOf(key, hash, isHigh)
        const rs = secp256k1.Signature.fromDER(der).toCompactRawBytes()
        for (const answered of [{ der }, { rs }, { rs: Uint8Array.of(...rs, 28) }]) {
          const found = signatureFrom(answered, hash, publicKeyOf(key), engine)
          expect(found && fieldsOf(found)).toEqual(expected)
        }
      }),
      { numRuns: RUNS },
    )
  })

  test('recovers to the account, as viem recovers it', async () => {
    const hash = new Uint8Array(32).fill(7)
    const found = signatureFrom({ der: derOf(KEY, hash) }, hash, publicKeyOf(KEY), await load())
    const signature = compact(found ?? { rs: new Uint8Array(64), yParity: 0 })
    expect(await recoverAddress({ hash: hexOf(hash), signature })).toBe(privateKeyToAccount(KEY).address)
  })

  test('is undefined if the key, the hash or any byte is different', async () => {
    const engine = await load()
    const cases = fc.record({ key: keys, hash: hashes, at: fc.nat(63), by: fc.integer({ min: 1, max: 255 }) })
    fc.assert(
      fc.property(cases, ({ key, hash, at, by }) => {
        const publicKey = publicKeyOf(key)
        const der = derOf(key, hash)
        const changed = secp256k1.Signature.fromDER(der).toCompactRawBytes()
        changed[at] = (changed[at] ?? 0) ^ by
        const other = hash.map((byte) => byte ^ 1)
        fc.pre(key !== KEY)
        expect(signatureFrom({ der }, hash, publicKeyOf(KEY), engine)).toBeUndefined()
        expect(signatureFrom({ der }, other, publicKey, engine)).toBeUndefined()
        expect(signatureFrom({ rs: changed }, hash, publicKey, engine)).toBeUndefined()
      }),
      { numRuns: RUNS },
    )
  })

  test('is undefined if it cannot be parsed', async () => {
    const engine = await load()
    const hash = new Uint8Array(32)
    const der = derOf(KEY, hash)
    const word = (value: bigint) => hexToBytes(numberToHex(value, { size: 32 }))
    const wrong = [
      { der: new Uint8Array() },
      { der: der.subarray(1) },
      { der: Uint8Array.of(...der, 0) },
      { rs: new Uint8Array() },
      { rs: new Uint8Array(63) },
      { rs: new Uint8Array(64) },
      { rs: Uint8Array.of(...word(1n), ...word(ORDER)) },
      { rs: Uint8Array.of(...word(ORDER), ...word(1n)) },
    ]
    for (const answered of wrong)
      expect(signatureFrom(answered, hash, publicKeyOf(KEY), engine)).toBeUndefined()
  })
})
