import { invert, mod } from '@noble/curves/abstract/modular'
import { secp256k1 } from '@noble/curves/secp256k1'
import { bytesToBigInt } from 'viem'
import type { Signature, SigningEngine } from '../signer/engine.js'
import type { PublicKey } from './publicKey.js'

/**
 * A signature in the forms that services return: DER, or r and s in 32 bytes each. Bytes behind these are
 * ignored.
 */
export type Answered = { readonly der: Uint8Array } | { readonly rs: Uint8Array }

type Scalars = ReturnType<typeof secp256k1.Signature.fromDER>

/**
 * The signature in Ethereum's form. Its s is the lower of two (EIP-2), because services return either. Its
 * `yParity` is the one with which the signature recovers to the key.
 *
 * @returns undefined if it is not a signature of this hash by this key
 */
export function signatureFrom(
  answered: Answered,
  hash: Uint8Array,
  publicKey: PublicKey,
  engine: SigningEngine | undefined,
): Signature | undefined {
  const scalars = scalarsOf(answered)
  if (scalars === undefined) return undefined
  const rs = scalars.toCompactRawBytes()
  const yParity = engine
    ? [0, 1].find((parity) => recoversTo(publicKey, hash, { rs, yParity: parity }, engine))
    : parityOf(scalars, hash, publicKey)
  return yParity === undefined ? undefined : { rs, yParity }
}

function scalarsOf(answered: Answered): Scalars | undefined {
  try {
    const read =
      'der' in answered
        ? secp256k1.Signature.fromDER(answered.der)
        : secp256k1.Signature.fromCompact(answered.rs.subarray(0, 64))
    return read.normalizeS()
  } catch {
    return undefined
  }
}

function recoversTo(
  publicKey: PublicKey,
  hash: Uint8Array,
  signature: Signature,
  engine: SigningEngine,
): boolean {
  try {
    const recovered = engine.recover(hash, signature)
    return recovered?.every((byte, index) => publicKey[index] === byte) ?? false
  } catch {
    // No point exists for this r and this parity.
    return false
  }
}

/**
 * The parity of the point R of a signature (SEC 1, section 4.1.4), which has r as its x if the signature
 * belongs to this key. One multiplication checks both. Recovery would need up to two, each half as expensive
 * again.
 */
function parityOf({ r, s }: Scalars, hash: Uint8Array, publicKey: PublicKey): number | undefined {
  const { n } = secp256k1.CURVE
  const inverse = invert(s, n)
  const key = secp256k1.ProjectivePoint.fromHex(publicKey)
  const [ofBase, ofKey] = [mod(bytesToBigInt(hash) * inverse, n), mod(r * inverse, n)]
  const point = secp256k1.ProjectivePoint.BASE.multiplyAndAddUnsafe(key, ofBase, ofKey)?.toAffine()
  // An r that equals x minus the curve order (probability 2^-128) cannot be expressed in an envelope.
  return point?.x === r ? Number(point.y & 1n) : undefined
}
