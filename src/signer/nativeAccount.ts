import { type Hex, hexToBytes, type TransactionSerializable } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { TxlaneError } from '../errors/base.js'
import { hashOf } from '../platform/hash.js'
import type { EnvelopeSigner } from '../types/index.js'
import { parse, type SigningEngine, sharedEngine } from './engine.js'
import {
  appendSignature,
  plainUnsigned,
  type Serializer,
  signedEnvelope,
  unsignedEnvelope,
} from './envelope.js'
import { bytesOf, hexOf } from './hex.js'
import { localAccountOf } from './localAccount.js'

/** A private key that signs with native code. It can be used wherever viem takes a local account. */
export type NativeAccount = PrivateKeyAccount & EnvelopeSigner

/**
 * The engine of `nativeAccount` on this machine: `native` (the packages secp256k1 and keccak), `wasm`
 * (tiny-secp256k1) or `javascript` (viem's own). The packages are optional dependencies of txlane, so npm
 * installs them if possible.
 */
export async function signingEngine(): Promise<'native' | 'wasm' | 'javascript'> {
  return (await sharedEngine())?.kind ?? 'javascript'
}

/**
 * Creates the account of a private key. It signs many times faster than viem's `privateKeyToAccount`, with
 * the same bytes: transactions of every type, messages, typed data and authorizations. Without native code
 * viem's own functions sign; `signingEngine()` returns the engine in use.
 *
 * Not guaranteed: that the key leaves no trace in memory, or that signing takes constant time for every key:
 * libsecp256k1 is designed for that, WebAssembly and JavaScript are not. viem's `setSignEntropy` has an effect
 * only if it was called before the first native account of the process: viem's own functions sign then.
 *
 * @param privateKey 32 bytes in hex
 * @throws TxlaneError `INVALID` for an invalid secp256k1 private key; its value is never shown
 * @example
 * const wallet = createWalletClient({ account: nativeAccount(key), chain: base, transport: http() })
 * const sender = createSender({ client: wallet })
 */
export function nativeAccount(privateKey: Hex): NativeAccount {
  return nativeAccountWith(privateKey, sharedEngine)
}

type Signed = { raw: Hex; hash: Hex }

/** `nativeAccount` with a given engine. */
export function nativeAccountWith(
  privateKey: Hex,
  engineOf: () => Promise<SigningEngine | undefined>,
): NativeAccount {
  const plain = plainAccount(privateKey)
  const key = hexToBytes(privateKey)

  let engine: SigningEngine | undefined
  // Loading and checking it takes some 40 ms of the event loop, which the first transactions would wait for.
  engineOf().then(
    (found) => {
      engine = found
    },
    // The first signature reports it.
    () => {},
  )

  function signEnvelope(transaction: TransactionSerializable, serializer?: Serializer) {
    return engine ? signWith(engine, transaction, serializer) : signOnceLoaded(transaction, serializer)
  }

  async function signOnceLoaded(
    transaction: TransactionSerializable,
    serializer: Serializer | undefined,
  ): Promise<Signed> {
    engine = await engineOf()
    if (engine !== undefined) return signWith(engine, transaction, serializer)
    const raw = await plain.signTransaction(transaction, serializer && { serializer })
    return { raw, hash: hashOf(raw) }
  }

  /** Nearly every transaction is signed at once, without a promise, because bursts sign thousands. */
  function signWith(
    { sign, keccak }: SigningEngine,
    transaction: TransactionSerializable,
    serializer: Serializer | undefined,
  ): Signed | Promise<Signed> {
    const unsigned = plainUnsigned(transaction, serializer)
    // The transaction is serialised once, and hashed once for the signature.
    const bytes = unsigned && appendSignature(unsigned, sign(keccak(unsigned), key), transaction.chainId)
    if (bytes === undefined) return signAny({ sign, keccak }, transaction, serializer)
    return { raw: hexOf(bytes), hash: hexOf(keccak(bytes)) }
  }

  async function signAny(
    { sign, keccak }: Pick<SigningEngine, 'sign' | 'keccak'>,
    transaction: TransactionSerializable,
    serializer: Serializer | undefined,
  ): Promise<Signed> {
    const unsigned = await unsignedEnvelope(transaction, serializer)
    const bytes = await signedEnvelope(unsigned, sign(keccak(unsigned), key), { transaction, serializer })
    return { raw: hexOf(bytes), hash: hexOf(keccak(bytes)) }
  }

  return localAccountOf({
    address: plain.address,
    publicKey: plain.publicKey,
    source: 'privateKey',
    async sign(hash) {
      const signer = await engineOf()
      return signer ? signer.sign(bytesOf(hash), key) : parse(await plain.sign({ hash }))
    },
    signEnvelope,
  })
}

function plainAccount(privateKey: Hex): PrivateKeyAccount {
  try {
    if (/^0x[0-9a-fA-F]{64}$/.test(privateKey)) return privateKeyToAccount(privateKey)
  } catch {
    // The message gives no details, because they would be about a secret.
  }
  throw new TxlaneError('Invalid privateKey: expected 32 bytes of hex that are a key of secp256k1.', {
    code: 'INVALID',
    fate: 'notExecuted',
    metaMessages: ['Argument: privateKey'],
  })
}
