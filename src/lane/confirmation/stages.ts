import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { Follower } from '../../chain/blocks/follower.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Attempt, Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Stage, Tx } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import { noteAttempts } from '../transaction/attempts.js'
import { noteGivenUp } from '../transaction/givenUp.js'
import { toStored } from '../transaction/stored.js'
import {
  drop,
  finished,
  hasFailed,
  hasReached,
  moveTo,
  settleVerdict,
  type Transaction,
  touched,
} from '../transaction/transaction.js'
import { emitStage } from '../transaction/transactionEvents.js'
import { isBoundElsewhere } from './boundElsewhere.js'
import type { FinalityIndex } from './finalityIndex.js'

type StagesContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
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
  /** The transaction is queued again, so that its data from the old nonce is discarded. */
  again(transaction: Transaction): void
  /** The transaction is beyond every reorg. It is removed from memory and remains in the store. */
  finalized(transaction: Transaction): void
  takeChanged(): readonly StoredTransaction[]
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
  const { transactions, changed, endpointPool, clock } = context
  let follower: Follower | undefined
  function moved(nonce: number, before: Slot | undefined, after: Slot): void {
    watchAttempts(before, after)
    switch (after.state) {
      case 'reserved': {
        const transaction = transactions.get(after.claim)
        if (transaction) bind(transaction, nonce)
        return
      }
      case 'live':
        if (before?.state === 'used') takeBack(before)
        noteGivenUp(context, before, after)
        for (const claim of after.claims) liveClaim(nonce, claim, before, after)
        return
      case 'used':
        return usedBy(before, after)
      case 'hole':
        return unbind(before)
      default:
        return
    }
  }

  function watchAttempts(before: Slot | undefined, after: Slot): void {
    if (follower === undefined) return
    if (after.state === 'final') {
      unwatch(before)
      return
    }
    if (after.attempts.length === (before?.attempts.length ?? 0)) return
    for (const { hash } of after.attempts) endpointPool.tracker.watch(hash, follower)
  }

  function unwatch(slot: Slot | undefined): void {
    for (const { hash } of slot?.attempts ?? []) endpointPool.tracker.unwatch(hash)
  }

  function bind(transaction: Transaction, nonce: number): void {
    transaction.nonce = nonce
  }

  /**
   * The nonce was freed, or the transaction moves to another nonce, so that its data from this nonce is
   * discarded.
   */
  function unbind(before: Slot | undefined): void {
    if (before?.state !== 'reserved') return
    const transaction = transactions.get(before.claim)
    if (transaction?.nonce === before.nonce && !hasFailed(transaction)) clear(transaction)
  }

  function clear(transaction: Transaction): void {
    transaction.nonce = undefined
    transaction.hash = undefined
    moveTo(transaction, 'queued', clock)
  }

  function liveClaim(
    nonce: number,
    claim: string,
    before: Slot | undefined,
    after: Extract<Slot, { state: 'live' }>,
  ): void {
    const transaction = transactions.get(claim)
    if (transaction === undefined || hasFailed(transaction)) return
    if (isBoundElsewhere(context.lane.book, transaction, nonce)) return
    let own: Attempt | undefined
    let accepted = false
    let preconfirmed = false
    for (const attempt of after.attempts) {
      if (attempt.claim !== claim) continue
      // The pending block may contain an attempt other than the newest one, or an attempt of another claim.
      if (!preconfirmed) own = attempt
      preconfirmed ||= attempt.hash === after.preconfirmed?.hash
      accepted ||= attempt.accepted
    }
    transaction.nonce = nonce
    if (own === undefined) return
    noteAttempts(transaction, after, before && clock)
    if (transaction.hash !== own.hash) {
      transaction.hash = own.hash
      touched(transaction, clock)
      changed.add(transaction)
    }
    reach(
      transaction,
      preconfirmed ? 'preconfirmed' : accepted ? 'accepted' : 'signed',
      before?.state === 'used',
    )
  }

  /**
   * Emits a stage when the transaction reaches it for the first time. A stage that is lost again (a reorg, a
   * withdrawn pre-confirmation) changes without an event.
   */
  function reach(transaction: Transaction, stage: Stage, back: boolean): void {
    if (transaction.stage === stage) return
    const before = transaction.stage
    const up = !hasReached(transaction, stage) || before === 'queued'
    if (!up && !back && before !== 'preconfirmed') return
    moveTo(transaction, stage, clock)
    if (up) emitStage(context, transaction)
    if (!transaction.watchedRemotely) return
    changed.add(transaction)
    context.lane.journal.touch()
  }

  function usedBy(before: Slot | undefined, after: Extract<Slot, { state: 'used' }>): void {
    // A verdict does not change the user of the nonce; a correction after the verdict does (row 24).
    if (before?.state === 'used' && after.settled && !before.settled) return
    if (before?.state === 'used' && before.at !== undefined && hashOf(before) !== hashOf(after))
      takeBack(before)
    for (const claim of after.claims) {
      const transaction = transactions.get(claim)
      // Row 26: of several transactions that were bound here, none can be proven or excluded.
      const isUnproven = after.by.kind === 'unproven'
      if (transaction === undefined || (transaction.unresolved === true) === isUnproven) continue
      if (isUnproven) transaction.unresolved = true
      else drop(transaction, 'unresolved')
      changed.add(transaction)
    }
    if (after.by.kind !== 'claim' || after.at === undefined) return
    const transaction = transactions.get(after.by.claim)
    if (transaction === undefined || hasFailed(transaction)) return
    transaction.nonce = after.nonce
    noteAttempts(transaction, after, undefined)
    if (transaction.hash !== after.by.hash) touched(transaction, clock)
    transaction.hash = after.by.hash
    transaction.block = after.at
    // A transaction that was read from the store may have received its verdict in an earlier process.
    transaction.settled ||= after.settled
    finalityIndex.add(transaction)
    changed.add(transaction)
    if (!hasReached(transaction, 'sealed')) {
      moveTo(transaction, 'sealed', clock)
      emitStage(context, transaction)
    }
  }

  /** Rows 24, 28 and 32: the block in which the transaction landed is no longer on the chain. */
  function takeBack(before: Extract<Slot, { state: 'used' }>): void {
    if (before.by.kind !== 'claim') return
    const transaction = transactions.get(before.by.claim)
    if (transaction === undefined) return
    finalityIndex.remove(transaction)
    transaction.block = undefined
    drop(transaction, 'persistedBlock', 'revertData')
    transaction.status = undefined
    transaction.costs = undefined
    transaction.landed = undefined
    transaction.stage = 'accepted'
    touched(transaction, clock)
    transaction.finishedAtMs = undefined
    changed.add(transaction)
  }

  return {
    moved,
    again(transaction) {
      if (transaction.hash !== undefined) transaction.previouslySigned = true
      clear(transaction)
      changed.add(transaction)
    },
    transactionOf(nonce) {
      const slot = context.lane.book.get(nonce)
      if (slot?.state === 'reserved') return transactions.get(slot.claim)
      if (slot?.state !== 'live' && slot?.state !== 'used') return undefined
      const claim = slot.claims[slot.claims.length - 1]
      return claim === undefined ? undefined : transactions.get(claim)
    },
    finalized(transaction) {
      moveTo(transaction, 'finalized', clock)
      transaction.settled = true
      finished(transaction, clock)
      changed.add(transaction)
      context.lane.journal.touch(() => {
        settleVerdict(transaction)
        forget(transaction)
      })
    },
    takeChanged() {
      const stored = [...changed].map((one) => {
        const to = context.handedOff.get(one)
        one.persistedStage = one.stage
        return to ? { ...toStored(one), ...to } : toStored(one)
      })
      changed.clear()
      return stored
    },
    follow(next) {
      follower = next
    },
    unfollow() {
      for (const slot of context.lane.book.slots.values()) unwatch(slot)
    },
  }
}

/** Hash of the attempt that used the nonce, or of the foreign transaction, if it is known. */
const hashOf = ({ by }: Extract<Slot, { state: 'used' }>): Hash | undefined =>
  by.kind === 'unproven' ? undefined : by.hash
