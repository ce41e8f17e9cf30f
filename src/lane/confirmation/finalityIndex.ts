import type { TxlaneError } from '../../errors/base.js'
import { moveTo } from '../transaction/changes.js'
import type { Transaction, WallClock } from '../transaction/transaction.js'
import { rejectWaitersFor } from '../transaction/waiters.js'
import { createPassedBlocks } from './passedBlocks.js'

/**
 * Transactions in sealed blocks, on their way to `safe` and `finalized`. If finality is far, most of them are written
 * off: the store has the record, and this process keeps the object only as long as a caller does.
 */
export type FinalityIndex = {
  add(transaction: Transaction): void
  /** The transaction's block left the chain. */
  remove(transaction: Transaction): void
  advance(
    safe: number | 'absent' | undefined,
    /** The highest final block; -1 while none is known. */
    final: number,
    /**
     * Whether the block that used a nonce is known to be canonical. A transaction in any other block waits.
     */
    stands: (nonce: number) => boolean,
    clock: WallClock,
  ): void
  /** Writes off the settled transactions in blocks up to this one for which no caller waits. */
  writeOff(upTo: number, stands: (nonce: number) => boolean): void
  /** The object of a transaction that was written off, if a caller still has it. It is followed again. */
  live(id: string): Transaction | undefined
  /** A caller waits for a stage of the transaction. If it was written off, it is followed again. */
  awaited(transaction: Transaction): void
  /** A transaction that was written off was read from the store again. It is followed from now on. */
  adopt(transaction: Transaction): void
  /** Rejects the callers that wait for a tag which the endpoint does not have. */
  refuse(tag: 'safe' | 'finalized', error: (transaction: Transaction) => TxlaneError): void
  readonly size: number
}

type WrittenOff = { readonly id: string; readonly block: number; readonly object: WeakRef<Transaction> }

export type FinalityIndexParts = {
  /** The transaction is safe. */
  readonly safe: (transaction: Transaction) => void
  /** The transaction is final. */
  readonly done: (transaction: Transaction) => void
  /** Transactions of which this process has no object are final. */
  readonly doneInStore: (ids: readonly string[]) => void
  /** Removes the transaction from memory; it remains in the store. */
  readonly forget: (transaction: Transaction) => void
  /** This process follows the transaction again. */
  readonly recall: (transaction: Transaction) => void
}

export function createFinalityIndex(parts: FinalityIndexParts): FinalityIndex {
  const byBlock = new Map<number, Set<Transaction>>()
  const passed = {
    safe: createPassedBlocks(byBlock),
    final: createPassedBlocks(byBlock),
    writeOff: createPassedBlocks(byBlock),
  }
  const writtenOff = createWrittenOff()
  let size = 0

  function add(transaction: Transaction): void {
    const number = transaction.walkedBlock?.number
    if (number === undefined) return
    const found = byBlock.get(number) ?? new Set()
    byBlock.set(number, found)
    if (!found.has(transaction)) size++
    found.add(transaction)
    for (const limit of Object.values(passed)) limit.added(number)
  }

  function follow(transaction: Transaction): void {
    add(transaction)
    parts.recall(transaction)
  }

  function drop(number: number, transaction: Transaction): void {
    const found = byBlock.get(number)
    if (found?.delete(transaction)) size--
    if (found?.size === 0) byBlock.delete(number)
  }

  /** The outcome of the transaction is known, and no caller waits for more. */
  function canLeave({ settled, unresolved, waiters, cancelWaiters }: Transaction): boolean {
    return settled && !unresolved && waiters === undefined && cancelWaiters === undefined
  }

  function advanceSafe(safe: number, sure: (transaction: Transaction) => boolean, clock: WallClock): void {
    const reached = (transaction: Transaction) => {
      if (transaction.stage !== 'sealed' || !sure(transaction)) return
      moveTo(transaction, 'safe', clock)
      parts.safe(transaction)
    }
    for (const [number, transactions] of passed.safe.upTo(safe)) {
      for (const transaction of transactions) {
        reached(transaction)
        if (transaction.stage === 'sealed') passed.safe.added(number)
      }
    }
    writtenOff.eachNewlySafe(safe, reached)
  }

  return {
    add,
    remove(transaction) {
      drop(transaction.walkedBlock?.number ?? -1, transaction)
    },
    advance(safe, final, stands, clock) {
      const sure = ({ nonce }: Transaction) => nonce === undefined || stands(nonce)
      if (typeof safe === 'number') advanceSafe(safe, sure, clock)
      for (const [number, transactions] of passed.final.upTo(final)) {
        for (const transaction of [...transactions].filter(sure)) {
          drop(number, transaction)
          moveTo(transaction, 'finalized', clock)
          parts.done(transaction)
        }
        // The others are in doubt: their blocks are looked at again.
        if (byBlock.has(number)) passed.final.added(number)
        // Callers that had waited may have left meanwhile.
        passed.writeOff.again()
      }
      const { objects, ids } = writtenOff.take(final)
      for (const transaction of objects) {
        moveTo(transaction, 'finalized', clock)
        parts.done(transaction)
      }
      parts.doneInStore(ids)
    },
    writeOff(upTo, stands) {
      for (const [number, transactions] of passed.writeOff.upTo(upTo)) {
        for (const transaction of transactions) {
          if (!canLeave(transaction) || !stands(transaction.nonce ?? -1)) continue
          drop(number, transaction)
          writtenOff.add(transaction, number)
          parts.forget(transaction)
        }
      }
    },
    live(id) {
      const transaction = writtenOff.remove(id)
      if (transaction === undefined) return undefined
      follow(transaction)
      return transaction
    },
    awaited(transaction) {
      if (transaction.settled && writtenOff.remove(transaction.id) === transaction) follow(transaction)
    },
    adopt(transaction) {
      if (!writtenOff.has(transaction.id)) return
      const former = writtenOff.remove(transaction.id)
      if (former) add(former)
      else writtenOff.forget(transaction.id)
      transaction.isBlockWalked = true
      follow(transaction)
    },
    refuse(tag, error) {
      for (const transactions of byBlock.values()) {
        for (const transaction of transactions) {
          if (transaction.waiters?.some(({ stage }) => stage === tag))
            rejectWaitersFor(transaction, tag, error(transaction))
        }
      }
    },
    get size() {
      return size + writtenOff.size
    },
  }
}

/** The transactions that were written off. They cost little memory, since there are many. */
function createWrittenOff() {
  const byId = new Map<string, WrittenOff>()
  const byBlock = new Map<number, WrittenOff[]>()
  const safeBlocks = createPassedBlocks(byBlock)
  const finalBlocks = createPassedBlocks(byBlock)

  return {
    add(transaction: Transaction, block: number): void {
      const one = { id: transaction.id, block, object: new WeakRef(transaction) }
      byId.set(one.id, one)
      const others = byBlock.get(block)
      if (others) others.push(one)
      else byBlock.set(block, [one])
      finalBlocks.added(block)
    },
    has: (id: string) => byId.has(id),
    /** Removes and returns the object; undefined, without a removal, if no caller has it any more. */
    remove(id: string): Transaction | undefined {
      const transaction = byId.get(id)?.object.deref()
      if (transaction !== undefined) byId.delete(id)
      return transaction
    },
    forget: (id: string) => void byId.delete(id),
    eachNewlySafe(safe: number, reached: (transaction: Transaction) => void): void {
      for (const [, all] of safeBlocks.upTo(safe)) {
        for (const { object } of all) {
          const transaction = object.deref()
          if (transaction) reached(transaction)
        }
      }
    },
    /** Removes all in blocks up to `final`: the objects that callers have, and the ids of the others. */
    take(final: number): { readonly objects: readonly Transaction[]; readonly ids: readonly string[] } {
      const objects: Transaction[] = []
      const ids: string[] = []
      for (const [block, all] of finalBlocks.upTo(final)) {
        byBlock.delete(block)
        for (const one of all) {
          // It is followed again.
          if (byId.get(one.id) !== one) continue
          byId.delete(one.id)
          const transaction = one.object.deref()
          if (transaction) objects.push(transaction)
          else ids.push(one.id)
        }
      }
      return { objects, ids }
    },
    get size() {
      return byId.size
    },
  }
}
