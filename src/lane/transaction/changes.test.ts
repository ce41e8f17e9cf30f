import { expect, test } from 'vitest'
import { a1, a2, block, usedSlot } from '../../ledger/samples.fixture.js'
import { transactionIn } from '../../store/contract/samples.js'
import type { WaitReason } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import { attemptsOf } from './attempts.js'
import {
  bindTo,
  executedIn,
  leftBlock,
  lostNonce,
  markLanded,
  moveTo,
  noteReceipt,
  setUnresolved,
  signedIn,
  update,
} from './changes.js'
import { fromStored, toStored } from './stored.js'

const LANE = { chainId: 1, genesisHash: `0x${'11'.repeat(32)}`, address: `0x${'aa'.repeat(20)}` } as const
const clock = { wallNow: () => 9 }
const SLOT = { nonce: 7, attempts: [a1] }
const USED = usedSlot({ kind: 'claim', claim: 'a', hash: a1.hash })
const OWN = { hash: a1.hash, isRestored: false }

const queued = () => fromStored(transactionIn(LANE, 'a'))

/** A transaction with one attempt. */
function signed() {
  const transaction = queued()
  bindTo(transaction, 7)
  signedIn(transaction, SLOT, OWN, clock)
  moveTo(transaction, 'signed', clock)
  return transaction
}

test('every change replaces the record, and all records have the same fields', () => {
  const transaction = queued()
  const first = transaction.record
  const fields = Object.keys(first)
  const seen = new Set([first])
  const changes = [
    () => update(transaction, { gas: 21_000n }),
    () => bindTo(transaction, 7),
    () => signedIn(transaction, SLOT, OWN, clock),
    () => moveTo(transaction, 'sealed', clock),
    () => executedIn(transaction, USED, a1.hash, clock),
    () => leftBlock(transaction, clock),
    () => lostNonce(transaction, clock),
    () => markLanded(transaction, clock),
  ]
  for (const change of changes) {
    change()
    expect(Object.keys(transaction.record)).toEqual(fields)
    seen.add(transaction.record)
  }
  expect(seen.size).toBe(changes.length + 1)
  expect(first).toMatchObject({ stage: 'queued', gas: undefined, nonce: undefined, block: undefined })
})

test('a single attempt has the short form, and remains when the transaction loses its nonce', () => {
  const transaction = signed()
  const { hash, fees } = a1
  const one = { nonce: 7, hash, fees, signedAtMs: 9 }
  expect(transaction.record).toMatchObject({ attempts: undefined, fees, signedAtMs: 9 })
  expect(attemptsOf(transaction.record)).toEqual([one])
  lostNonce(transaction, clock)
  expect(transaction.record).toMatchObject({
    nonce: undefined,
    hash: undefined,
    stage: 'queued',
    fees: undefined,
  })
  expect(attemptsOf(transaction.record)).toEqual([one])
  expect(transaction.notes).toEqual({ previouslySigned: true })
  signedIn(transaction, { nonce: 8, attempts: [a2] }, { hash: a2.hash, isRestored: true }, clock)
  expect(attemptsOf(transaction.record)).toEqual([one, { nonce: 8, hash: a2.hash, fees: a2.fees }])
})

test('an attempt that is known is not new', () => {
  const transaction = signed()
  const { record } = transaction
  expect(signedIn(transaction, SLOT, OWN, clock)).toBe(false)
  expect(transaction.record).toBe(record)
})

test('a block that was only read from the store does not count as walked', () => {
  const transaction = signed()
  executedIn(transaction, USED, a1.hash, clock)
  expect(transaction.walkedBlock).toEqual(block(10))
  const read = fromStored(toStored(transaction))
  expect(read.record.block).toEqual(block(10))
  expect(read.walkedBlock).toBeUndefined()
})

test('a reason for waiting is not stored with a later stage', () => {
  const transaction = queued()
  const waiting = { for: 'funds' } as WaitReason
  update(transaction, { waiting })
  expect(toStored(transaction)).toBe(transaction.record)
  bindTo(transaction, 7)
  expect(toStored(transaction)).toEqual({ ...transaction.record, waiting: undefined })
  expect(transaction.record.waiting).toBe(waiting)
})

test('a transaction that had landed keeps that verdict when its use becomes unproven', () => {
  const transaction = signed()
  setUnresolved(transaction, true)
  expect(transaction.record.verdict).toBe('unresolved')
  setUnresolved(transaction, false)
  expect(transaction.record.verdict).toBeUndefined()
  markLanded(transaction, clock)
  setUnresolved(transaction, true)
  expect(transaction).toMatchObject({ unresolved: true, settled: true })
  expect(toStored(transaction).verdict).toBe('landed')
})

const RECEIPT = { status: 'success', gasUsed: 21_000n, effectiveGasPrice: 7n } as const

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
