import type { Lane } from '../../allocator/lane.js'
import { type BlockRef, isUsed, type Slot } from '../../ledger/slot.js'
import { ownTuples } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'

/**
 * Transactions that authorize for the lane's own account (EIP-7702) go alone. Each of their tuples uses one
 * more nonce, and would displace a transaction at that nonce. The rows are the same as for nonces that others
 * may use:
 *
 * - As soon as the bytes are journaled, the nonces of the tuples are `outside` (row 8): anyone may submit a
 *   tuple.
 * - Their use is proven by a pair of blocks, like any use of a nonce by something other than our attempts
 *   (row 25). In the block of the transaction itself the tuple used it, and nothing foreign.
 * - Nonces that are unused when the transaction has executed, or has given its nonce back, become holes again
 *   (row 10). The next transaction takes them (row 1), or they disappear as the cursor goes down (row 3). A
 *   tuple that is submitted later is treated like any other use of a nonce: evidence, `foreign`, another
 *   nonce (rows 25 and 31).
 * - After a reorg the transaction is live again, and the nonces of its tuples are `outside` (row 28).
 *
 * Correctness does not depend on the barrier; it only avoids displaced transactions.
 */
export type AuthorizationBarrier = {
  /**
   * Whether the transaction may take the next nonce. If it has to go alone, all nonces below must be used
   * first.
   */
  canReserve(transaction: Transaction): boolean
  /** Whether no nonce above this one is in use, except those of its own tuples. */
  isHighest(nonce: number): boolean
  /** Whether the nonce is reserved for a tuple, so that no no-op may take it. */
  isReservedForTuple(nonce: number): boolean
  /** The block of our transaction whose tuple uses this nonce, if there is one. */
  carrierBlock(nonce: number): BlockRef | undefined
  moved(nonce: number, after: Slot): void
  /** Takes the `latest` count that a tick read. */
  count(latest: number, head: number): void
}

export function createAuthorizationBarrier(context: {
  readonly lane: Lane
  readonly transactions: Map<string, Transaction>
}): AuthorizationBarrier {
  const { lane, transactions } = context
  const { book, holds } = lane
  /** The number of nonces that are reserved above each transaction that is under way. */
  const carriers = new Map<number, number>()

  const tuplesOf = (claim: string | undefined): number => {
    const request = claim === undefined ? undefined : transactions.get(claim)?.request
    return request === undefined ? 0 : ownTuples(request)
  }

  /** Largest number of authorization nonces used by any attempt that may still land at this nonce. */
  function tuplesAt(slot: Slot | undefined): number {
    if (slot?.state === 'reserved') return tuplesOf(slot.claim)
    if (slot?.state === 'live') return slot.claims.reduce((most, claim) => Math.max(most, tuplesOf(claim)), 0)
    return slot?.state === 'used' && slot.by.kind === 'claim' ? tuplesOf(slot.by.claim) : 0
  }

  const isReserved = (nonce: number): boolean => {
    const slot = book.get(nonce)
    return slot?.state === 'outside' && slot.origin === 'seeded'
  }

  function reserve(carrier: number, count: number): void {
    for (let nonce = carrier + 1; nonce <= carrier + count; nonce++) {
      const slot = book.get(nonce)
      if (slot === undefined || slot.state === 'hole') lane.apply(nonce, { type: 'seeded' })
    }
  }

  /** Releases from the top down, so that the cursor goes down too. */
  function release(carrier: number, from: number): void {
    for (let nonce = carrier + (carriers.get(carrier) ?? 0); nonce >= from; nonce--)
      if (isReserved(nonce)) lane.apply(nonce, { type: 'released' })
  }

  function review(carrier: number): void {
    if (!carriers.has(carrier)) return
    const slot = book.get(carrier)
    const count = tuplesAt(slot)
    const reserved = carriers.get(carrier) ?? 0
    if (slot?.state === 'live' && count > reserved) {
      carriers.set(carrier, count)
      return reserve(carrier, count)
    }
    // It is not known yet which nonces the tuples used.
    if (count > 0 && !(isUsed(slot) && allKnown(carrier, reserved))) return
    release(carrier, carrier + 1)
    carriers.delete(carrier)
    if (carriers.size === 0) holds.lift('authorizing')
  }

  function allKnown(carrier: number, reserved: number): boolean {
    for (let nonce = carrier + 1; nonce <= carrier + reserved; nonce++) if (isReserved(nonce)) return false
    return true
  }

  return {
    canReserve: (transaction) => ownTuples(transaction.request) === 0 || book.floor === book.cursor,
    isHighest(nonce) {
      return nonce + (carriers.get(nonce) ?? 0) + 1 >= book.cursor
    },
    isReservedForTuple(nonce) {
      for (const [carrier, reserved] of carriers)
        if (nonce > carrier && nonce <= carrier + reserved) return true
      return false
    },
    carrierBlock(nonce) {
      let below = nonce - 1
      let slot = book.get(below)
      // Skips the nonces that earlier tuples, or foreign transactions, used.
      while (slot?.state === 'used' && slot.by.kind === 'other') slot = book.get(--below)
      return slot !== undefined && below + tuplesAt(slot) >= nonce && slot.state === 'used'
        ? slot.at
        : undefined
    },
    moved(nonce, after) {
      const open = after.state === 'reserved' || after.state === 'live'
      if ((open || after.state === 'used') && !carriers.has(nonce) && tuplesAt(after) > 0) {
        // A transaction that was read from the store may have used all of its nonces long ago.
        if (after.state === 'used' && !isReserved(nonce + 1)) return
        carriers.set(nonce, after.state === 'used' ? tuplesAt(after) : 0)
        holds.add('authorizing')
      }
      for (const [carrier, reserved] of carriers)
        if (nonce >= carrier && nonce <= carrier + reserved) review(carrier)
    },
    count(latest, head) {
      for (const carrier of [...carriers.keys()]) {
        const slot = book.get(carrier)
        if (slot?.state !== 'used' || slot.at === undefined || head <= slot.at.number) continue
        // One block later the count includes every nonce that the block of the transaction used.
        release(carrier, Math.max(carrier + 1, latest))
      }
    },
  }
}
