import type { Hash } from 'viem'
import type { Slot, Used } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Tx } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import { executedIn, leftBlock, moveTo, setUnresolved } from '../transaction/changes.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { emitStage } from '../transaction/transactionEvents.js'
import type { FinalityIndex } from './finalityIndex.js'

type UsedStagesContext = {
  readonly clock: Clock
  readonly events: Emitter
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  txOf(transaction: Transaction): Tx
}

/** Moves a transaction to `sealed` when a block uses its nonce, and back when that block leaves the chain. */
export type UsedStages = {
  used(before: Slot | undefined, after: Used): void
  /** Rows 24, 28 and 32: the block in which the transaction landed is no longer on the chain. */
  takeBack(before: Used): void
}

export function createUsedStages(context: UsedStagesContext, finalityIndex: FinalityIndex): UsedStages {
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
      executedIn(transaction, after, after.by.hash, clock)
      finalityIndex.add(transaction)
      changed.add(transaction)
      if (!hasReached(transaction, 'sealed')) {
        moveTo(transaction, 'sealed', clock)
        emitStage(context, transaction)
      }
    },
    takeBack,
  }
}

/** Hash of the attempt that used the nonce, or of the foreign transaction, if it is known. */
const hashOf = ({ by }: Used): Hash | undefined => (by.kind === 'unproven' ? undefined : by.hash)
