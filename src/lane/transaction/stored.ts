import { hasEndedUnexecuted } from '../../store/ended.js'
import { recordWith } from '../../store/recordWith.js'
import type { StoredTransaction } from '../../types/store.js'
import { isTimely } from '../reasons/waitCause.js'
import { Transaction } from './transaction.js'

/** The record to store. It lacks a reason for waiting that belongs to an earlier stage. */
export function toStored({ record }: Transaction): StoredTransaction {
  const { waiting } = record
  const isOutdated = waiting !== undefined && !isTimely(waiting, record)
  return isOutdated ? recordWith(record, { waiting: undefined }) : record
}

/** A new transaction: it is queued and has no nonce. */
export function newQueued(
  first: Omit<StoredTransaction, 'stage' | 'nonce' | 'hash' | 'status' | 'failure' | 'updatedAtMs'>,
): Transaction {
  const { createdAtMs: updatedAtMs } = first
  return new Transaction(recordWith(first as StoredTransaction, { stage: 'queued', updatedAtMs }))
}

/** The replaced transaction is a separate record. The caller that reads all records links the two. */
export function fromStored(stored: StoredTransaction): Transaction {
  return new Transaction(recordWith(stored))
}

/**
 * Whether the record belongs to an earlier life of the id, and is therefore outdated. Until the store has
 * answered a call with `again: true`, a record that ended without execution belongs to an earlier life as
 * well.
 */
export function isOfFormerLife({ record, again }: Transaction, stored: StoredTransaction): boolean {
  if ((stored.life ?? 0) < (record.life ?? 0)) return true
  return again === true && hasEndedUnexecuted(stored.stage)
}
