import { serializeTransaction, type TransactionSerializable } from 'viem'
import { appendSignature } from './appendSignature.js'
import type { Signature } from './engine.js'
import { bytesOf } from './hex.js'
import { plainEnvelope } from './plainEnvelope.js'
import { isPlainSerializer, type Serializer } from './plainSerializers.js'
import { fieldsOf } from './signature.js'

/**
 * The bytes that the signature of a transaction is of, where they are quickly made: see `plainEnvelope`, whose next call
 * writes where they stand.
 */
export function plainUnsigned(
  transaction: TransactionSerializable,
  serializer: Serializer | undefined,
): Uint8Array | undefined {
  return isPlainSerializer(serializer) ? plainEnvelope(transaction) : undefined
}

/** The bytes that the signature of any transaction is of, as its chain's serializer writes them. */
export async function unsignedEnvelope(
  transaction: TransactionSerializable,
  serializer: Serializer | undefined,
): Promise<Uint8Array> {
  // The network form of a blob transaction carries what is not signed.
  const isBlob = transaction.type === 'eip4844'
  const unsigned = isBlob ? { ...transaction, sidecars: false } : transaction
  return bytesOf(await writerOf(serializer)(unsigned as never))
}

/** The signed bytes of a transaction whose unsigned bytes are there already: it is serialised once. */
export async function signedEnvelope(
  unsigned: Uint8Array,
  signature: Signature,
  { transaction, serializer }: Written,
): Promise<Uint8Array> {
  const { r, chainId = 0 } = transaction as { r?: unknown; chainId?: number }
  // A serializer writes a signature that is there already: such bytes are not the ones to append to.
  const signed = r === undefined ? appendSignature(unsigned, signature, chainId) : undefined
  return signed ?? bytesOf(await writerOf(serializer)(transaction as never, fieldsOf(signature) as never))
}

/** What is signed, and how its chain writes it. */
export type Written = {
  readonly transaction: TransactionSerializable
  readonly serializer: Serializer | undefined
}

function writerOf(serializer: Serializer | undefined): Serializer {
  return serializer ?? (serializeTransaction as Serializer)
}
