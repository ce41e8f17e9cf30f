import { invert, mod } from '@noble/curves/abstract/modular'
import { secp256k1 } from '@noble/curves/secp256k1'
import { Semaphore } from 'async-mutex'
import { bytesToBigInt, type Hex, keccak256, type TransactionSerializable } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { type Signature, type SigningEngine, sharedEngine } from '../signer/engine.js'
import { plainUnsigned, type Serializer, signedEnvelope, unsignedEnvelope } from '../signer/envelope.js'
import { bytesOf, hexOf } from '../signer/hex.js'
import { type FullAccount, localAccountOf } from '../signer/localAccount.js'
import type { PublicKey } from './publicKey.js'
import { type Service, signerError } from './service.js'

/** The account of a key in a service. It can be used wherever viem takes a local account. */
export type ServiceAccount<source extends string = string> = FullAccount<source>

/** The 32 bytes to sign, and their preimage if it is known. */
type Signing = { readonly hash: Uint8Array; readonly preimage: (() => Hex) | undefined }

/**
 * The viem account of a key in a service. Up to `concurrency` signatures run at once, started in the order of
 * the calls. Each is checked against the public key before it is used.
 */
export async function serviceAccountOf<source extends string>(key: {
  readonly service: Service
  readonly source: source
  readonly publicKey: PublicKey
  readonly concurrency: number
  readonly ask: (signing: Signing, signal: AbortSignal) => Promise<Answered>
}): Promise<ServiceAccount<source>> {
  const { service, publicKey } = key
  const publicHex = hexOf(publicKey)
  const address = publicKeyToAddress(publicHex)
  const turns = new Semaphore(key.concurrency)
  // Loaded here, so that no signature waits for it.
  const engine = await sharedEngine()
  const keccak = engine?.keccak ?? ((bytes: Uint8Array) => keccak256(bytes, 'bytes'))

  async function sign(hash: Hex, preimage: (() => Hex) | undefined): Promise<Signature> {
    const signing = { hash: bytesOf(hash), preimage }
    const answered = await turns.runExclusive(() =>
      service.call(`sign for ${address}`, (signal) => key.ask(signing, signal)),
    )
    const signature = signatureFrom(answered, signing.hash, publicKey, engine)
    if (signature !== undefined) return signature
    const text = `${service.name} returned a signature that does not belong to the key of ${address} and the requested hash.`
    throw signerError(text, 'It signed with another key, or signed other bytes.')
  }

  async function signEnvelope(transaction: TransactionSerializable, serializer?: Serializer) {
    const plain = plainUnsigned(transaction, serializer)
    // A copy, because other envelopes reuse the buffer before this one is signed.
    const unsigned = plain ? Uint8Array.from(plain) : await unsignedEnvelope(transaction, serializer)
    const signature = await sign(hexOf(keccak(unsigned)), () => hexOf(unsigned))
    const bytes = await signedEnvelope(unsigned, signature, { transaction, serializer })
    return { raw: hexOf(bytes), hash: hexOf(keccak(bytes)) }
  }

  return localAccountOf({ address, publicKey: publicHex, source: key.source, sign, signEnvelope })
}

/**
 * A signature in the forms that services return: DER, or r and s in 32 bytes each. Bytes behind these are
 * ignored.
 */
type Answered = { readonly der: Uint8Array } | { readonly rs: Uint8Array }

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
