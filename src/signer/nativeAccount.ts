import {
  type Hex,
  hashMessage,
  hashTypedData,
  hexToBytes,
  keccak256,
  type LocalAccount,
  serializeTransaction,
  type TransactionSerializable,
} from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount, toAccount } from 'viem/accounts'
import { hashAuthorization } from 'viem/utils'
import { TxlaneError } from '../errors/base.js'
import type { EnvelopeSigner } from '../types.js'
import { appendSignature } from './appendSignature.js'
import { findEngine, type Signature, type SigningEngine } from './engine.js'
import { bytesOf, hexOf } from './hex.js'
import { plainEnvelope } from './plainEnvelope.js'
import { isPlainSerializer, type Serializer } from './plainSerializers.js'

/** A private key that signs with native code. Goes wherever viem takes a local account. */
export type NativeAccount = PrivateKeyAccount & EnvelopeSigner

// Found once: which packages are there does not change while a program runs.
let engine: Promise<SigningEngine | undefined> | undefined

/**
 * What signs for `nativeAccount` on this machine: `native` (the packages secp256k1 and keccak), `wasm` (tiny-secp256k1)
 * or `javascript` (viem's own). The packages are optional dependencies of txlane, so that npm installs them where it
 * can.
 */
export async function signingEngine(): Promise<'native' | 'wasm' | 'javascript'> {
  engine ??= findEngine()
  return (await engine)?.kind ?? 'javascript'
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
  return nativeAccountWith(privateKey, () => {
    engine ??= findEngine()
    return engine
  })
}

/** `nativeAccount` with a given engine. */
export function nativeAccountWith(
  privateKey: Hex,
  engineOf: () => Promise<SigningEngine | undefined>,
): NativeAccount {
  const plain = plainAccount(privateKey)
  const key = hexToBytes(privateKey)

  async function sign(hash: Hex): Promise<Hex> {
    const signer = await engineOf()
    return signer ? compact(signer.sign(bytesOf(hash), key)) : plain.sign({ hash })
  }

  async function signEnvelope(transaction: TransactionSerializable, serializer?: Serializer) {
    const signer = await engineOf()
    if (signer === undefined) {
      const raw = await plain.signTransaction(transaction, serializer && { serializer })
      return { raw, hash: keccak256(raw) }
    }
    const bytes = await signedBytes(signer, key, transaction, serializer)
    return { raw: hexOf(bytes), hash: hexOf(signer.keccak(bytes)) }
  }

  const account = toAccount({
    address: plain.address,
    sign: ({ hash }) => sign(hash),
    signMessage: ({ message }) => sign(hashMessage(message)),
    signTypedData: (typedData) => sign(hashTypedData(typedData as Parameters<typeof hashTypedData>[0])),
    async signTransaction(transaction, options) {
      const { raw } = await signEnvelope(
        transaction as TransactionSerializable,
        options?.serializer as Serializer | undefined,
      )
      return raw as never
    },
    async signAuthorization(parameters) {
      const { chainId, nonce } = parameters
      const address = parameters.contractAddress ?? parameters.address
      return { address, chainId, nonce, ...split(await sign(hashAuthorization({ address, chainId, nonce }))) }
    },
  }) as LocalAccount
  return {
    ...account,
    publicKey: plain.publicKey,
    source: 'privateKey',
    signsAs: plain.address,
    signEnvelope,
  } as NativeAccount
}

/** Serialised once, and hashed once for the signature. */
async function signedBytes(
  signer: SigningEngine,
  key: Uint8Array,
  transaction: TransactionSerializable,
  serializer: Serializer | undefined,
): Promise<Uint8Array> {
  const write = serializer ?? (serializeTransaction as Serializer)
  // The network form of a blob transaction carries what is not signed.
  const isBlob = transaction.type === 'eip4844'
  const unsigned =
    (isPlainSerializer(serializer) ? plainEnvelope(transaction) : undefined) ??
    bytesOf(await write((isBlob ? { ...transaction, sidecars: false } : transaction) as never))
  const signature = signer.sign(signer.keccak(unsigned), key)
  const { r, chainId = 0 } = transaction as { r?: unknown; chainId?: number }
  // A serializer writes a signature that is there already: such bytes are not the ones to append to.
  const signed = r === undefined ? appendSignature(unsigned, signature, chainId) : undefined
  return signed ?? bytesOf(await write(transaction as never, split(compact(signature)) as never))
}

/** r, s and v in 65 bytes, as messages are signed. */
function compact({ rs, yParity }: Signature): Hex {
  return `${hexOf(rs)}${yParity === 0 ? '1b' : '1c'}`
}

function split(signature: Hex) {
  const yParity = signature.endsWith('1c') ? 1 : 0
  return {
    r: signature.slice(0, 66) as Hex,
    s: `0x${signature.slice(66, 130)}` as Hex,
    v: BigInt(27 + yParity),
    yParity,
  }
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
