import { secp256k1 } from '@noble/curves/secp256k1'

/** A public key of secp256k1 in 65 bytes: 4, x and y. */
export type PublicKey = Uint8Array

const hex = (digits: string): Uint8Array =>
  Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

// The start of a SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7) in DER, up to the point: id-ecPublicKey
// with the curve secp256k1 (RFC 5480, section 2.1.1; SEC 2, section 2.4.1), and a bit string of 65 bytes or,
// compressed, of 33.
const SPKI_HEADS = [
  { head: hex('3056301006072a8648ce3d020106052b8104000a034200'), length: 65 },
  { head: hex('3036301006072a8648ce3d020106052b8104000a032200'), length: 33 },
]

/**
 * The public key of a `SubjectPublicKeyInfo` in DER; undefined for other kinds of keys and for malformed
 * bytes.
 */
export function fromSpki(spki: Uint8Array): PublicKey | undefined {
  for (const { head, length } of SPKI_HEADS)
    if (spki.length === head.length + length && head.every((byte, index) => spki[index] === byte))
      return fromPoint(spki.subarray(head.length))
  return undefined
}

/** The public key of a `SubjectPublicKeyInfo` in PEM (RFC 7468, section 13). */
export function fromPem(pem: string): PublicKey | undefined {
  const body = /-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----/.exec(pem)?.[1]
  if (body === undefined) return undefined
  try {
    return fromSpki(Uint8Array.from(atob(body.replace(/\s/g, '')), (char) => char.charCodeAt(0)))
  } catch {
    // The text is not base64.
    return undefined
  }
}

/**
 * The public key of a point that may be compressed, or lack its first byte; undefined if it is not on the
 * curve.
 */
export function fromPoint(bytes: Uint8Array): PublicKey | undefined {
  try {
    const whole = bytes.length === 64 ? Uint8Array.of(4, ...bytes) : bytes
    return secp256k1.ProjectivePoint.fromHex(whole).toRawBytes(false)
  } catch {
    return undefined
  }
}

/** The public key of the coordinates of a JSON web key; undefined if they are not on the curve. */
export function fromCoordinates(x: Uint8Array, y: Uint8Array): PublicKey | undefined {
  if (x.length > 32 || y.length > 32) return undefined
  const point = new Uint8Array(64)
  point.set(x, 32 - x.length)
  point.set(y, 64 - y.length)
  return fromPoint(point)
}
