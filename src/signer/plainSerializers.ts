import { type SerializeTransactionFn, serializeTransaction, type TransactionSerializable } from 'viem'

export type Serializer = SerializeTransactionFn<TransactionSerializable>

const SIGNATURE = { r: `0x${'12'.repeat(32)}`, s: `0x${'34'.repeat(32)}`, yParity: 1 } as const
const SAMPLES: readonly TransactionSerializable[] = [
  { type: 'eip1559', chainId: 8453 },
  {
    type: 'eip1559',
    chainId: 1,
    nonce: 200,
    gas: 21_000n,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 1n,
    to: `0x${'a1'.repeat(20)}`,
    value: 10n ** 20n,
    data: `0x${'07'.repeat(300)}`,
  },
]

// Each serializer is checked once, because a chain's serializer does not change while the program runs.
const tried = new WeakMap<Serializer, boolean>()

/**
 * True if a chain's own serializer returns the same bytes as viem's for standard envelopes. Such serializers
 * exist for types that only this chain has (deposits of the OP stack, CIP-64 of Celo), which they recognise
 * by their own fields.
 */
export function isPlainSerializer(serializer: Serializer | undefined): boolean {
  if (serializer === undefined) return true
  const before = tried.get(serializer)
  if (before !== undefined) return before
  const isPlain = SAMPLES.every((sample) => writesAsViem(serializer, sample))
  tried.set(serializer, isPlain)
  return isPlain
}

function writesAsViem(serializer: Serializer, sample: TransactionSerializable): boolean {
  try {
    return [undefined, SIGNATURE].every(
      (signature) => serializer(sample, signature) === serializeTransaction(sample, signature),
    )
  } catch {
    return false
  }
}
