import type { Lane } from '../../allocator/lane.js'
import type { Follower } from '../../chain/blocks/follower.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { lastClaim, type Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { recordWith } from '../../store/recordWith.js'
import type { Tx } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import { bindTo, lostNonce, markLanded, moveTo, settleVerdict, unbind } from '../transaction/changes.js'
import { noteGivenUp } from '../transaction/givenUp.js'
import { toStored } from '../transaction/stored.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { createAttemptWatch } from './attemptWatch.js'
import type { FinalityIndex } from './finalityIndex.js'
import { createLiveStages } from './liveStages.js'
import { createUsedStages } from './usedStages.js'

type StagesContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly clock: Clock
  readonly events: Emitter
  readonly fees: FeeOracle
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
  txOf(transaction: Transaction): Tx
}

/** Derives each transaction's stage, nonce and hash from its slot, and emits the events. */
export type Stages = {
  moved(nonce: number, before: Slot | undefined, after: Slot): void
  transactionOf(nonce: number): Transaction | undefined
  /** The transaction is queued again, so its data from the old nonce is discarded. */
  again(transaction: Transaction): void
  /** The transaction is beyond every reorg. It is removed from memory and remains in the store. */
  finalized(transaction: Transaction): void
  /** Watches the hashes of new attempts for this follower. */
  follow(follower: Follower): void
  unfollow(): void
}

export function createStages(
  context: StagesContext,
  finalityIndex: FinalityIndex,
  /** Removes the transaction from memory; it remains in the store. */
  forget: (transaction: Transaction) => void,
): Stages {
  const { lane, transactions, changed, endpointPool, clock } = context
  const attempts = createAttemptWatch({ book: lane.book, tracker: endpointPool.tracker })
  const live = createLiveStages(context)
  const { used, takeBack } = createUsedStages(context, finalityIndex)

  function moved(nonce: number, before: Slot | undefined, after: Slot): void {
    attempts.moved(before, after)
    switch (after.state) {
      case 'reserved': {
        const transaction = transactions.get(after.claim)
        if (transaction) bindTo(transaction, nonce)
        return
      }
      case 'live':
        if (before?.state === 'used') takeBack(before)
        noteGivenUp(context, before, after)
        for (const claim of after.claims) {
          const transaction = transactions.get(claim)
          if (transaction) live(transaction, before, after)
        }
        return
      case 'used':
        return used(before, after)
      case 'hole':
        return freed(before)
      default:
        return
    }
  }

  /**
   * The nonce was freed, or the transaction moves to another nonce, so its data from this nonce is
   * discarded.
   */
  function freed(before: Slot | undefined): void {
    if (before?.state !== 'reserved') return
    const transaction = transactions.get(before.claim)
    if (transaction?.nonce === before.nonce && !hasFailed(transaction)) unbind(transaction, clock)
  }

  return {
    moved,
    again(transaction) {
      lostNonce(transaction, clock)
      changed.add(transaction)
    },
    transactionOf(nonce) {
      const slot = lane.book.get(nonce)
      const claim = slot && lastClaim(slot)
      return claim === undefined ? undefined : transactions.get(claim)
    },
    finalized(transaction) {
      moveTo(transaction, 'finalized', clock)
      markLanded(transaction, clock)
      changed.add(transaction)
      lane.journal.touch(() => {
        settleVerdict(transaction)
        forget(transaction)
      })
    },
    follow: attempts.follow,
    unfollow: attempts.unfollow,
  }
}

/** The records of the transactions that changed since the last write of the journal. */
export function takeChanged({
  changed,
  handedOff,
}: Pick<StagesContext, 'changed' | 'handedOff'>): readonly StoredTransaction[] {
  const stored = [...changed].map((one) => {
    const to = handedOff.get(one)
    one.persistedStage = one.stage
    return to ? recordWith(toStored(one), to) : toStored(one)
  })
  changed.clear()
  return stored
}
