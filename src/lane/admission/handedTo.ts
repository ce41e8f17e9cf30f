import type { LaneKey, StoredTransaction } from '../../types/store.js'
import type { Transaction } from '../transaction/transaction.js'
import { fingerprintOf, NO_FINGERPRINT } from './idConflict.js'

/** The stored fields for the lane that receives the transaction, as if it had been sent there. */
export function handedTo(
  lane: LaneKey,
  { record: { lane: from, request, fingerprint, pooled = [] } }: Transaction,
): Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'> {
  return {
    lane,
    fingerprint: fingerprint === NO_FINGERPRINT ? NO_FINGERPRINT : fingerprintOf(lane.address, request),
    pooled: [...new Set([...pooled, from.address])],
  }
}
