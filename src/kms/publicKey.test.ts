import fc from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { hexOf } from '../signer/hex.js'
import { KEY, keyPair, spkiOf } from './kms.fixture.js'
import { fromCoordinates, fromPem, fromPoint, fromSpki } from './publicKey.js'

const RUNS = runsOf(200)
const EXPECTED = privateKeyToAccount(KEY).publicKey
const hexOrNone = (key: Uint8Array | undefined) => key && hexOf(key)

describe('a public key', () => {
  test('is read from the DER, the PEM and the JSON web key of OpenSSL', () => {
    for (let count = 0; count < 20; count++) {
      const { publicKey } = keyPair('secp256k1')
      const spki = publicKey.export({ format: 'der', type: 'spki' })
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
      const expected = hexOf(spki.subarray(-65))
      expect(hexOrNone(fromSpki(spki))).toBe(expected)
      const pem = String(publicKey.export({ format: 'pem', type: 'spki' }))
      for (const text of [pem, pem.replaceAll('\n', '\r\n'), ` ${pem}\n\n`])
        expect(hexOrNone(fromPem(text))).toBe(expected)
      expect(hexOrNone(fromCoordinates(Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')))).toBe(
        expected,
      )
    }
  })

  test('is read in compressed form, and without the first byte of its point', () => {
    expect(hexOrNone(fromSpki(spkiOf(KEY)))).toBe(EXPECTED)
    expect(hexOrNone(fromSpki(spkiOf(KEY, true)))).toBe(EXPECTED)
    expect(hexOrNone(fromPoint(spkiOf(KEY).subarray(-64)))).toBe(EXPECTED)
  })

  test('of another curve or another kind is refused', () => {
    for (const curve of ['prime256v1', 'secp384r1', 'secp521r1', 'brainpoolP256r1'])
      expect(fromSpki(keyPair(curve).publicKey.export({ format: 'der', type: 'spki' }))).toBeUndefined()
    const pem = String(keyPair('prime256v1').publicKey.export({ format: 'pem', type: 'spki' }))
    for (const text of [pem, '', '-----BEGIN PUBLIC KEY-----\nA\n-----END PUBLIC KEY-----', 'no PEM'])
      expect(fromPem(text)).toBeUndefined()
  })

  test('with a point off the curve, or with too long coordinates, is refused', () => {
    const spki = spkiOf(KEY)
    const [x, y] = [spki.subarray(-64, -32), spki.subarray(-32)]
    expect(fromCoordinates(x, x)).toBeUndefined()
    expect(fromCoordinates(Uint8Array.of(0, ...x), y)).toBeUndefined()
    expect(fromCoordinates(new Uint8Array(), new Uint8Array())).toBeUndefined()
  })

  test('with any other byte, or any other length, is another key or refused', () => {
    const spki = spkiOf(KEY)
    const changes = fc.record({ at: fc.nat(spki.length - 1), by: fc.integer({ min: 1, max: 255 }) })
    fc.assert(
      fc.property(changes, ({ at, by }) => {
        const other = Uint8Array.from(spki)
        other[at] = (other[at] ?? 0) ^ by
        expect(hexOrNone(fromSpki(other))).not.toBe(EXPECTED)
      }),
      { numRuns: RUNS },
    )
    for (let length = 0; length < spki.length; length++)
      expect(fromSpki(spki.subarray(0, length))).toBeUndefined()
    expect(fromSpki(Uint8Array.of(...spki, 0))).toBeUndefined()
    // The length of the bit string is that of the other form.
    const compressed = spkiOf(KEY, true)
    expect(fromSpki(Uint8Array.of(...spki.subarray(0, -65), ...compressed.subarray(-33)))).toBeUndefined()
    expect(fromSpki(Uint8Array.of(...compressed.subarray(0, -33), ...spki.subarray(-65)))).toBeUndefined()
  })
})
