import type { StoredTransaction } from '../types/store.js'

// Do not use object spread for records of transactions; `slotWith.ts` gives the reason. The function below is the
// only site that creates such a record from another one, so all of them share one hidden class.

/** Every field of a record, with `undefined` for one that the record lacks. */
type Complete = { readonly [field in keyof Required<StoredTransaction>]: StoredTransaction[field] }

/** A copy of the record with some fields changed. */
export function recordWith(
  record: StoredTransaction,
  changes?: Partial<StoredTransaction>,
): StoredTransaction {
  return Object.assign(copyOf(record), changes)
}

/** The fields are listed here once, in the order in which a store writes them. */
function copyOf(record: StoredTransaction): Complete {
  return {
    id: record.id,
    lane: record.lane,
    fingerprint: record.fingerprint,
    request: record.request,
    life: record.life,
    sequence: record.sequence,
    priority: record.priority,
    gas: record.gas,
    feeCeiling: record.feeCeiling,
    feePreset: record.feePreset,
    expiresAtMs: record.expiresAtMs,
    onExpiry: record.onExpiry,
    replaces: record.replaces,
    needs: record.needs,
    private: record.private,
    order: record.order,
    starved: record.starved,
    pooled: record.pooled,
    stage: record.stage,
    nonce: record.nonce,
    hash: record.hash,
    attempts: record.attempts,
    fees: record.fees,
    signedAtMs: record.signedAtMs,
    waiting: record.waiting,
    block: record.block,
    status: record.status,
    verdict: record.verdict,
    failure: record.failure,
    costs: record.costs,
    revertData: record.revertData,
    group: record.group,
    supersededBy: record.supersededBy,
    createdAtMs: record.createdAtMs,
    updatedAtMs: record.updatedAtMs,
    finishedAtMs: record.finishedAtMs,
  }
}
