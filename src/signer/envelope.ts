import { serializeTransaction, type TransactionSerializable } from 'viem'
import { appendSignature } from './appendSignature.js'
import type { Signature } from './engine.js'
import { bytesOf } from './hex.js'
import { plainEnvelope } from './plainEnvelope.js'
import { isPlainSerializer, type Serializer } from './plainSerializers.js'
import { fieldsOf } from './signature.js'

/**
 * The unsigned bytes of a transaction, if they can be made quickly: see `plainEnvelope`, whose next call
 * overwrites them.
 */
export function plainUnsigned(
  transaction: TransactionSerializable,
  serializer: Serializer | undefined,
): Uint8Array | undefined {
  return isPlainSerializer(serializer) ? plainEnvelope(transaction) : undefined
}

/** The unsigned bytes of any transaction, from its chain's serializer. */
export async function unsignedEnvelope(
  transaction: TransactionSerializable,
  serializer: Serializer | undefined,
): Promise<Uint8Array> {
  // The network form of a blob transaction contains data that is not signed.
  const isBlob = transaction.type === 'eip4844'
  const unsigned = isBlob ? { ...transaction, sidecars: false } : transaction
  return bytesOf(await writerOf(serializer)(unsigned as never))
}

/** The signed bytes of a transaction, made from its unsigned bytes, so that it is serialised only once. */
export async function signedEnvelope(
  unsigned: Uint8Array,
  signature: Signature,
  { transaction, serializer }: Written,
): Promise<Uint8Array> {
  const { r, chainId = 0 } = transaction as { r?: unknown; chainId?: number }
  // If the transaction already has a signature, the serializer includes it, so a signature cannot be appended
  // to its bytes.
  const signed = r === undefined ? appendSignature(unsigned, signature, chainId) : undefined
  return signed ?? bytesOf(await writerOf(serializer)(transaction as never, fieldsOf(signature) as never))
}

/** The transaction, and the serializer of its chain. */
export type Written = {
  readonly transaction: TransactionSerializable
  readonly serializer: Serializer | undefined
}

function writerOf(serializer: Serializer | undefined): Serializer {
  return serializer ?? (serializeTransaction as Serializer)
}
