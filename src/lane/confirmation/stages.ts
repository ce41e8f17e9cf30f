import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { Follower } from '../../chain/blocks/follower.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Book } from '../../ledger/book.js'
import { type Attempt, type Live, lastClaim, type Slot, type Used } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { recordWith } from '../../store/recordWith.js'
import type { Stage, Tx } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import {
  bindTo,
  executedIn,
  leftBlock,
  lostNonce,
  markLanded,
  moveTo,
  settleVerdict,
  setUnresolved,
  signedIn,
  unbind,
} from '../transaction/changes.js'
import { noteGivenUp } from '../transaction/givenUp.js'
import { toStored } from '../transaction/stored.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { emitStage } from '../transaction/transactionEvents.js'
import { notifyReached } from '../transaction/waiters.js'
import type { FinalityIndex } from './finalityIndex.js'

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
type Stages = {
  moved(nonce: number, before: Slot | undefined, after: Slot): void
  transactionOf(nonce: number): Transaction | undefined
  /** The transaction is queued again, so its data from the old nonce is discarded. */
  again(transaction: Transaction): void
  /** The transaction's block has the tag `safe`. */
  safe(transaction: Transaction): void
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
  const { lane, transactions, changed, clock } = context
  const attempts = createAttemptWatch(context)
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
    safe: (transaction) => showRemotely(context, transaction),
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

/** Callers in other processes read the stages from the store. */
function showRemotely({ changed, lane }: StagesContext, transaction: Transaction): void {
  if (!transaction.watchedRemotely) return
  changed.add(transaction)
  lane.journal.touch()
}

/**
 * Derives the stage, nonce and hash of a transaction from the live slot to which it is bound. Emits a stage
 * when the transaction reaches it for the first time. A stage that is lost again (a reorg, a withdrawn
 * pre-confirmation) changes without an event.
 */
function createLiveStages(context: StagesContext) {
  const { lane, clock, changed } = context

  /** True if it moves to the stage. `isTakenBack`: its block has left the chain. */
  function movesTo(transaction: Transaction, stage: Stage, isTakenBack: boolean): boolean {
    if (transaction.stage === stage) return false
    return isUp(transaction, stage) || isTakenBack || transaction.stage === 'preconfirmed'
  }

  function moved(transaction: Transaction, wasUp: boolean): void {
    notifyReached(transaction)
    if (wasUp) emitStage(context, transaction)
    showRemotely(context, transaction)
  }

  return (transaction: Transaction, before: Slot | undefined, after: Live): void => {
    if (hasFailed(transaction) || isBoundElsewhere(lane.book, transaction, after.nonce)) return
    let own: Attempt | undefined
    let accepted = false
    let preconfirmed = false
    for (const attempt of after.attempts) {
      if (attempt.claim !== transaction.id) continue
      // The pending block may contain an attempt other than the newest one, or an attempt of another claim.
      if (!preconfirmed) own = attempt
      preconfirmed ||= attempt.hash === after.preconfirmed?.hash
      accepted ||= attempt.accepted
    }
    if (own === undefined) return bindTo(transaction, after.nonce)
    const reached = preconfirmed ? 'preconfirmed' : accepted ? 'accepted' : 'signed'
    const up = isUp(transaction, reached)
    const stage = movesTo(transaction, reached, before?.state === 'used') ? reached : undefined
    const { hash } = own
    if (signedIn(transaction, after, { hash, isRestored: before === undefined, stage }, clock))
      changed.add(transaction)
    if (stage !== undefined) moved(transaction, up)
  }
}

function isUp(transaction: Transaction, stage: Stage): boolean {
  return !hasReached(transaction, stage) || transaction.stage === 'queued'
}

/** Moves a transaction to `sealed` when a block uses its nonce, and back when that block leaves the chain. */
type UsedStages = {
  used(before: Slot | undefined, after: Used): void
  /** Rows 24, 28 and 32: the block in which the transaction landed is no longer on the chain. */
  takeBack(before: Used): void
}

function createUsedStages(context: StagesContext, finalityIndex: FinalityIndex): UsedStages {
  const { clock, transactions, changed } = context

  function markUnresolved({ claims, by }: Used): void {
    // Row 26: of several transactions that were bound here, none can be proven or excluded.
    const isUnproven = by.kind === 'unproven'
    for (const claim of claims) {
      const transaction = transactions.get(claim)
      if (transaction === undefined || transaction.unresolved === isUnproven) continue
      setUnresolved(transaction, isUnproven)
      changed.add(transaction)
    }
  }

  function takeBack({ by }: Used): void {
    if (by.kind !== 'claim') return
    const transaction = transactions.get(by.claim)
    if (transaction === undefined) return
    finalityIndex.remove(transaction)
    leftBlock(transaction, clock)
    changed.add(transaction)
  }

  return {
    used(before, after) {
      // A verdict does not change the user of the nonce; a correction after the verdict does (row 24).
      if (before?.state === 'used' && after.settled && !before.settled) return
      if (before?.state === 'used' && before.at !== undefined && hashOf(before) !== hashOf(after))
        takeBack(before)
      markUnresolved(after)
      if (after.by.kind !== 'claim' || after.at === undefined) return
      const transaction = transactions.get(after.by.claim)
      if (transaction === undefined || hasFailed(transaction)) return
      const isNew = executedIn(transaction, after, after.by.hash, clock)
      finalityIndex.add(transaction)
      changed.add(transaction)
      if (!isNew) return
      notifyReached(transaction)
      emitStage(context, transaction)
    },
    takeBack,
  }
}

/** Hash of the attempt that used the nonce, or of the foreign transaction, if it is known. */
const hashOf = ({ by }: Used): Hash | undefined => (by.kind === 'unproven' ? undefined : by.hash)

/** Has the poller watch for the hashes of all attempts that may still land. */
type AttemptWatch = {
  moved(before: Slot | undefined, after: Slot): void
  /** Watches the hashes of new attempts for this follower. */
  follow(follower: Follower): void
  unfollow(): void
}

function createAttemptWatch({ lane, endpointPool }: StagesContext): AttemptWatch {
  const { tracker } = endpointPool
  let follower: Follower | undefined

  function unwatch(slot: Slot | undefined): void {
    for (const { hash } of slot?.attempts ?? []) tracker.unwatch(hash)
  }

  return {
    moved(before, after) {
      if (follower === undefined) return
      if (after.state === 'final') {
        unwatch(before)
        return
      }
      if (after.attempts.length === (before?.attempts.length ?? 0)) return
      for (const { hash } of after.attempts) tracker.watch(hash, follower)
    },
    follow(next) {
      follower = next
    },
    unfollow() {
      for (const slot of lane.book.slots.values()) unwatch(slot)
    },
  }
}

/**
 * Whether the transaction is bound to a nonce other than `here`. A transaction moves to another nonce if it
 * lost the first one, or if its id was reused after it ended. The end of the first nonce then says nothing
 * about the transaction, unless its bytes execute there.
 */
export function isBoundElsewhere(
  book: Pick<Book, 'get'>,
  { id, nonce }: Pick<Transaction, 'id' | 'nonce'>,
  here: number,
): boolean {
  if (nonce === undefined || nonce === here) return false
  const slot = book.get(nonce)
  if (slot?.state === 'reserved') return slot.claim === id
  return slot?.state === 'live' && slot.claims.includes(id)
}
