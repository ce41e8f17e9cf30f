import { expect, test } from 'vitest'
import type { StoredTransaction } from '../../types/store.js'
import { noteReceipt } from './costs.js'
import { fromStored } from './stored.js'

const RECEIPT = { status: 'success', gasUsed: 21_000n, effectiveGasPrice: 7n } as const
const clock = { wallNow: () => 9 }
const fresh = () => fromStored({ status: undefined, costs: undefined, updatedAtMs: 1 } as StoredTransaction)

test.each([
  ['of a plain chain', {}, { totalFee: 147_000n }],
  ['of an OP-stack chain, with the cost of its data on L1', { l1Fee: 5n }, { l1Fee: 5n, totalFee: 147_005n }],
  ['of an OP-stack chain without an l1Fee', { l1Fee: null }, { totalFee: 147_000n }],
  ['with blobs', { blobGasUsed: 2n, blobGasPrice: 3n }, { totalFee: 147_006n }],
])('the total fee %s', (_, fields, expected) => {
  const transaction = fresh()
  expect(noteReceipt(transaction, { ...RECEIPT, ...fields } as never, clock)).toBe(true)
  expect(transaction.record.costs).toEqual({ gasUsed: 21_000n, effectiveGasPrice: 7n, ...expected })
  expect(transaction.record).toMatchObject({ status: 'success', updatedAtMs: 9 })
})

test('known values are not new, and a receipt without a price has no costs', () => {
  const transaction = fresh()
  noteReceipt(transaction, RECEIPT as never, clock)
  expect(noteReceipt(transaction, RECEIPT as never, { wallNow: () => 11 })).toBe(false)
  expect(transaction.record.updatedAtMs).toBe(9)
  const other = fresh()
  const bare = { status: 'success', gasUsed: 21_000n } as never
  expect(noteReceipt(other, bare, clock)).toBe(true)
  expect(other.record.costs).toBeUndefined()
  expect(noteReceipt(other, bare, clock)).toBe(false)
})
