import { hasEndedUnexecuted } from '../../store/ended.js'
import type { StoredAttempt, StoredNeeds, StoredTransaction } from '../../types/store.js'
import { isTimely } from '../reasons/timely.js'
import { failureFrom, storedFailure } from './failure.js'
import { begin, describe, drop, hasReached, type Needs, type Transaction, wake } from './transaction.js'

export function toStored(transaction: Transaction): StoredTransaction {
  const { failure } = transaction
  return {
    id: transaction.id,
    lane: transaction.lane,
    fingerprint: transaction.fingerprint,
    request: transaction.request,
    life: transaction.life,
    sequence: transaction.sequence,
    priority: transaction.priority,
    gas: transaction.gas,
    feeCeiling: transaction.feeCeiling,
    feePreset: transaction.feePreset,
    expiresAtMs: transaction.expiresAtMs,
    onExpiry: transaction.onExpiry,
    replaces: transaction.replacesId,
    needs: storedNeeds(transaction.needs),
    private: transaction.private,
    order: transaction.order,
    starved: transaction.starved,
    pooled: transaction.pooled,
    stage: transaction.stage,
    nonce: transaction.nonce,
    hash: transaction.hash,
    ...attemptsToKeep(transaction),
    waiting:
      transaction.waiting && isTimely(transaction.waiting, transaction) ? transaction.waiting : undefined,
    block: transaction.block ?? transaction.persistedBlock,
    status: transaction.status,
    verdict: transaction.settled ? 'landed' : transaction.unresolved ? 'unresolved' : undefined,
    failure: failure && storedFailure(failure),
    costs: transaction.costs,
    revertData: transaction.revertData,
    group: transaction.group,
    supersededBy: transaction.supersededBy,
    createdAtMs: transaction.createdAtMs,
    updatedAtMs: transaction.updatedAtMs,
    finishedAtMs: transaction.finishedAtMs,
  }
}

function storedNeeds(needs: Needs | undefined): StoredNeeds | undefined {
  return needs && { ...needs, after: needs.after?.map((one) => (typeof one === 'string' ? one : one.id)) }
}

/** The replaced transaction is a separate record. The caller that reads all records links the two. */
export function fromStored(stored: StoredTransaction): Transaction {
  const { failure, verdict } = stored
  const transaction = begin({
    id: stored.id,
    lane: stored.lane,
    request: stored.request,
    fingerprint: stored.fingerprint,
    sequence: stored.sequence,
    priority: stored.priority,
    feeCeiling: stored.feeCeiling,
    feePreset: stored.feePreset,
    createdAtMs: stored.createdAtMs,
    expiresAtMs: stored.expiresAtMs,
    onExpiry: stored.onExpiry,
    private: stored.private,
    order: stored.order,
    starved: stored.starved,
    pooled: stored.pooled,
    group: stored.group,
    needs: stored.needs,
    replaces: undefined,
    replacesId: stored.replaces,
  })
  transaction.gas = stored.gas
  transaction.stage = transaction.persistedStage = stored.stage
  transaction.nonce = stored.nonce
  transaction.hash = stored.hash
  transaction.attempts = keptAttempts(stored)
  transaction.updatedAtMs = stored.updatedAtMs
  transaction.finishedAtMs = stored.finishedAtMs
  transaction.supersededBy = stored.supersededBy
  transaction.waiting = stored.waiting
  if (stored.block) transaction.persistedBlock = stored.block
  transaction.status = stored.status
  transaction.costs = stored.costs
  if (stored.revertData !== undefined) transaction.revertData = stored.revertData
  transaction.settled = verdict === 'landed'
  if (verdict === 'unresolved') transaction.unresolved = true
  if (stored.life !== undefined) transaction.life = stored.life
  if (failure === undefined) return transaction
  transaction.endPersisted = true
  transaction.failure = failureFrom(failure, describe(transaction))
  return transaction
}

type KeptAttempts = Pick<StoredTransaction, 'attempts' | 'fees' | 'signedAtMs'>

function attemptsToKeep({ attempts, nonce, hash }: Transaction): KeptAttempts {
  const [one] = attempts
  if (one === undefined) return { attempts: undefined, fees: undefined, signedAtMs: undefined }
  const isAll = attempts.length === 1 && one.nonce === nonce && one.hash === hash
  if (!isAll) return { attempts, fees: undefined, signedAtMs: undefined }
  return { attempts: undefined, fees: one.fees, signedAtMs: one.signedAtMs }
}

function keptAttempts({
  attempts,
  nonce,
  hash,
  fees,
  signedAtMs,
}: StoredTransaction): readonly StoredAttempt[] {
  if (attempts !== undefined) return attempts
  if (nonce === undefined || hash === undefined || fees === undefined) return []
  return [signedAtMs === undefined ? { nonce, hash, fees } : { nonce, hash, fees, signedAtMs }]
}

/**
 * Whether the record belongs to an earlier life of the id, and is therefore outdated. Until the store has
 * answered a call with `again: true`, a record that ended without execution belongs to an earlier life as
 * well.
 */
export function isOfFormerLife(transaction: Transaction, stored: StoredTransaction): boolean {
  if ((stored.life ?? 0) < (transaction.life ?? 0)) return true
  return transaction.again === true && hasEndedUnexecuted(stored.stage)
}

/** Replaces the data by the stored record. Waiters and the caller's signal remain. */
export function refresh(transaction: Transaction, stored: StoredTransaction): void {
  const { waiters, watchedRemotely, replaces, handle, landed, hash, owner } = transaction
  const { status, costs, revertData } = transaction
  transaction.cancelTimers?.()
  drop(
    transaction,
    'cancelTimers',
    'withdrawError',
    'stageBeforeEnd',
    'failure',
    'unresolved',
    'previouslySigned',
  )
  drop(transaction, 'aboveCeiling', 'refusal', 'signerPause', 'persistedBlock', 'revertData')
  Object.assign(transaction, fromStored(stored), {
    waiters,
    watchedRemotely,
    replaces,
    handle,
    owner,
  })
  if (transaction.settled && hash === transaction.hash) transaction.landed = landed
  // This process read the receipt, which the lease owner may not have done.
  const isRead = costs !== undefined && transaction.costs === undefined && hash === transaction.hash
  if (isRead && hasReached(transaction, 'sealed'))
    Object.assign(transaction, { status, costs, revertData: transaction.revertData ?? revertData })
  wake(transaction)
}
