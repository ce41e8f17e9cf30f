import { Semaphore } from 'async-mutex'
import { type Hex, keccak256, type TransactionSerializable } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { type Signature, sharedEngine } from '../signer/engine.js'
import { plainUnsigned, signedEnvelope, unsignedEnvelope } from '../signer/envelope.js'
import { bytesOf, hexOf } from '../signer/hex.js'
import { type FullAccount, localAccountOf } from '../signer/localAccount.js'
import type { Serializer } from '../signer/plainSerializers.js'
import type { PublicKey } from './publicKey.js'
import { type Answered, signatureFrom } from './recovery.js'
import type { Service } from './service.js'
import { signerError } from './signerError.js'

/** The account of a key in a service. It can be used wherever viem takes a local account. */
export type ServiceAccount<source extends string = string> = FullAccount<source>

/** The 32 bytes to sign, and their preimage if it is known. */
export type Signing = { readonly hash: Uint8Array; readonly preimage: (() => Hex) | undefined }

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
