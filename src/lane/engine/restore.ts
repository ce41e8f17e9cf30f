import type { Book } from '../../ledger/book.js'
import type { Slot } from '../../ledger/slot.js'
import type { StoredTransaction } from '../../types/store.js'
import { bindTo, lostNonce } from '../transaction/changes.js'
import { fromStored } from '../transaction/stored.js'
import { hasReached, type Transaction, type WallClock } from '../transaction/transaction.js'

export type Restored = {
  /** The unfinished transactions. Each has the nonce of the slot to which it is bound, or none. */
  readonly open: readonly Transaction[]
  /** Transactions whose slots were pruned, because nothing is tracked beyond the horizon. */
  readonly final: readonly Transaction[]
}

/**
 * Restores the transactions of an earlier process from its slots. Only the slots say which transaction has a
 * nonce, because a reservation without an attempt ended with that process. `find` reads a transaction that
 * has ended.
 */
export async function restoreTransactions(
  stored: readonly StoredTransaction[],
  parts: {
    readonly book: Book
    /** Transactions that callers of this process hold already. The same objects are reused. */
    readonly known: ReadonlyMap<string, Transaction>
    /** Applies the stored record to such a transaction. */
    readonly learn: (transaction: Transaction, stored: StoredTransaction) => void
    readonly find: (id: string) => Promise<StoredTransaction | undefined>
    readonly clock: WallClock
  },
): Promise<Restored> {
  const { book, find, known, learn, clock } = parts
  const transactions = new Map(stored.map((one) => [one.id, taken(one)]))
  const nonces = boundNonces(book)
  for (const { id, replaces } of stored) {
    const transaction = transactions.get(id) as Transaction
    if (replaces !== undefined)
      transaction.replaces = transactions.get(replaces) ?? (await ended(replaces, find))
  }
  const all = [...transactions.values()]
  const isFinal = (one: Transaction) => !nonces.has(one.id) && hasReached(one, 'sealed')
  const final = all.filter(isFinal)
  const open = all.filter((one) => !isFinal(one))
  for (const transaction of open) {
    const nonce = nonces.get(transaction.id)
    if (nonce === undefined) lostNonce(transaction, clock)
    else bindTo(transaction, nonce)
  }
  return { open, final }

  /** Another process may have sent the transaction, and may wait for it. */
  function taken(one: StoredTransaction): Transaction {
    const here = known.get(one.id)
    if (here) learn(here, one)
    const transaction = here ?? fromStored(one)
    transaction.watchedRemotely = true
    return transaction
  }
}

/** The bound nonces, by transaction id. */
function boundNonces(book: Book): Map<string, number> {
  const nonces = new Map<string, number>()
  for (const slot of book.slots.values()) for (const claim of claimsOf(slot)) nonces.set(claim, slot.nonce)
  return nonces
}

function claimsOf(slot: Slot): readonly string[] {
  if (slot.state === 'live') return slot.claims
  if (slot.state !== 'used') return []
  if (!slot.settled) return slot.claims
  return slot.by.kind === 'claim' ? [slot.by.claim] : []
}

async function ended(
  id: string,
  find: (id: string) => Promise<StoredTransaction | undefined>,
): Promise<Transaction | undefined> {
  const stored = await find(id)
  return stored && fromStored(stored)
}
