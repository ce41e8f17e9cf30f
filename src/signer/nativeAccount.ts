import { type Hex, hexToBytes, keccak256, type TransactionSerializable } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { TxlaneError } from '../errors/base.js'
import type { EnvelopeSigner } from '../types/index.js'
import { type SigningEngine, sharedEngine } from './engine.js'
import { plainUnsigned, signedEnvelope, unsignedEnvelope } from './envelope.js'
import { bytesOf, hexOf } from './hex.js'
import { localAccountOf } from './localAccount.js'
import type { Serializer } from './plainSerializers.js'
import { parse } from './signature.js'

/** A private key that signs with native code. Goes wherever viem takes a local account. */
export type NativeAccount = PrivateKeyAccount & EnvelopeSigner

/**
 * What signs for `nativeAccount` on this machine: `native` (the packages secp256k1 and keccak), `wasm` (tiny-secp256k1)
 * or `javascript` (viem's own). The packages are optional dependencies of txlane, so that npm installs them where it
 * can.
 */
export async function signingEngine(): Promise<'native' | 'wasm' | 'javascript'> {
  return (await sharedEngine())?.kind ?? 'javascript'
}

/**
 * The account of a private key, signing many times faster than viem's `privateKeyToAccount` and giving the same bytes:
 * transactions of every type, messages, typed data and authorizations. Where no native code is to be had, viem's own
 * signs: `signingEngine()` says which it is.
 *
 * Not guaranteed: that the key leaves no trace in memory, or that signing takes the same time for every key: libsecp256k1
 * is made for that, WebAssembly and JavaScript are not. viem's `setSignEntropy`, where it was called, makes viem's own sign.
 *
 * @param privateKey 32 bytes in hex
 * @throws TxlaneError `INVALID` for what is no private key of secp256k1; its value is never shown
 * @example
 * const wallet = createWalletClient({ account: nativeAccount(key), chain: base, transport: http() })
 * const sender = createSender({ client: wallet })
 */
export function nativeAccount(privateKey: Hex): NativeAccount {
  return nativeAccountWith(privateKey, sharedEngine)
}

/** `nativeAccount` with a given engine. */
export function nativeAccountWith(
  privateKey: Hex,
  engineOf: () => Promise<SigningEngine | undefined>,
): NativeAccount {
  const plain = plainAccount(privateKey)
  const key = hexToBytes(privateKey)

  async function signEnvelope(transaction: TransactionSerializable, serializer?: Serializer) {
    const signer = await engineOf()
    if (signer === undefined) {
      const raw = await plain.signTransaction(transaction, serializer && { serializer })
      return { raw, hash: keccak256(raw) }
    }
    // Serialised once, and hashed once for the signature.
    const unsigned =
      plainUnsigned(transaction, serializer) ?? (await unsignedEnvelope(transaction, serializer))
    const signature = signer.sign(signer.keccak(unsigned), key)
    const bytes = await signedEnvelope(unsigned, signature, { transaction, serializer })
    return { raw: hexOf(bytes), hash: hexOf(signer.keccak(bytes)) }
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
    // What is wrong with it is not said: the message would be about a secret.
  }
  throw new TxlaneError('Invalid privateKey: expected 32 bytes of hex that are a key of secp256k1.', {
    code: 'INVALID',
    fate: 'notExecuted',
    metaMessages: ['Argument: privateKey'],
  })
}
