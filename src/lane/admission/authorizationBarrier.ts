import type { Lane } from '../../allocator/lane.js'
import { type BlockRef, isUsed, type Slot } from '../../ledger/slot.js'
import { ownTuples } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'

/**
 * Transactions that authorize for the lane's own account (EIP-7702) go alone: each of their tuples uses one nonce more,
 * and what stood there would be displaced. The rows are those that there are for nonces which others may use:
 *
 * - As soon as its bytes are journaled, the nonces of its tuples are `outside` (row 8): anyone may submit a tuple.
 * - That they are used shows the pair of blocks, like every use by what is no attempt of ours (row 25). In the block of
 *   the transaction itself it was the tuple, and nothing foreign.
 * - What is not used once the transaction is, or has given its nonce back, is a hole again (row 10), which the next
 *   transaction takes (row 1) or which comes down with the cursor (row 3). A tuple that is submitted later all the same
 *   is what any other use of a nonce is: evidence, `foreign`, another nonce (rows 25 and 31).
 * - After a reorg the transaction is live again, and the nonces of its tuples are `outside` (row 28).
 *
 * So no promise rests on the barrier: it spares the lane the displacements.
 */
export type AuthorizationBarrier = {
  /** Whether it may take the next nonce: with all below it used, where it has to go alone. */
  canReserve(transaction: Transaction): boolean
  /** Nothing stands above this nonce but what its own tuples use. */
  isHighest(nonce: number): boolean
  /** Kept for a tuple: no no-op is to take it. */
  isReservedForTuple(nonce: number): boolean
  /** The block with the transaction of ours whose tuple this nonce is for, where there is one. */
  carrierBlock(nonce: number): BlockRef | undefined
  moved(nonce: number, after: Slot): void
  /** The `latest` count as a tick read it. */
  count(latest: number, head: number): void
}

export function createAuthorizationBarrier(context: {
  readonly lane: Lane
  readonly transactions: Map<string, Transaction>
}): AuthorizationBarrier {
  const { lane, transactions } = context
  const { book, holds } = lane
  /** How many nonces are kept above each transaction that is under way. */
  const carriers = new Map<number, number>()

  const tuplesOf = (claim: string | undefined): number => {
    const request = claim === undefined ? undefined : transactions.get(claim)?.request
    return request === undefined ? 0 : ownTuples(request)
  }

  /** The most that anything which may land there uses. */
  function tuplesAt(slot: Slot | undefined): number {
    if (slot?.state === 'reserved') return tuplesOf(slot.claim)
    if (slot?.state === 'live') return slot.claims.reduce((most, claim) => Math.max(most, tuplesOf(claim)), 0)
    return slot?.state === 'used' && slot.by.kind === 'claim' ? tuplesOf(slot.by.claim) : 0
  }

  const isKept = (nonce: number): boolean => {
    const slot = book.get(nonce)
    return slot?.state === 'outside' && slot.origin === 'seeded'
  }

  function keep(carrier: number, count: number): void {
    for (let nonce = carrier + 1; nonce <= carrier + count; nonce++) {
      const slot = book.get(nonce)
      if (slot === undefined || slot.state === 'hole') lane.apply(nonce, { type: 'seeded' })
    }
  }

  /** From the top, so that the cursor comes down with them. */
  function release(carrier: number, from: number): void {
    for (let nonce = carrier + (carriers.get(carrier) ?? 0); nonce >= from; nonce--)
      if (isKept(nonce)) lane.apply(nonce, { type: 'released' })
  }

  function review(carrier: number): void {
    if (!carriers.has(carrier)) return
    const slot = book.get(carrier)
    const count = tuplesAt(slot)
    const kept = carriers.get(carrier) ?? 0
    if (slot?.state === 'live' && count > kept) {
      carriers.set(carrier, count)
      return keep(carrier, count)
    }
    // What the tuples used is not known yet.
    if (count > 0 && !(isUsed(slot) && allKnown(carrier, kept))) return
    release(carrier, carrier + 1)
    carriers.delete(carrier)
    if (carriers.size === 0) holds.lift('authorizing')
  }

  function allKnown(carrier: number, kept: number): boolean {
    for (let nonce = carrier + 1; nonce <= carrier + kept; nonce++) if (isKept(nonce)) return false
    return true
  }

  return {
    canReserve: (transaction) => ownTuples(transaction.request) === 0 || book.floor === book.cursor,
    isHighest(nonce) {
      return nonce + (carriers.get(nonce) ?? 0) + 1 >= book.cursor
    },
    isReservedForTuple(nonce) {
      for (const [carrier, kept] of carriers) if (nonce > carrier && nonce <= carrier + kept) return true
      return false
    },
    carrierBlock(nonce) {
      let below = nonce - 1
      let slot = book.get(below)
      // What its earlier tuples used, or whoever else did.
      while (slot?.state === 'used' && slot.by.kind === 'other') slot = book.get(--below)
      return slot !== undefined && below + tuplesAt(slot) >= nonce && slot.state === 'used'
        ? slot.at
        : undefined
    },
    moved(nonce, after) {
      const open = after.state === 'reserved' || after.state === 'live'
      if ((open || after.state === 'used') && !carriers.has(nonce) && tuplesAt(after) > 0) {
        // One that was read from the store may have used all of its nonces long ago.
        if (after.state === 'used' && !isKept(nonce + 1)) return
        carriers.set(nonce, after.state === 'used' ? tuplesAt(after) : 0)
        holds.add('authorizing')
      }
      for (const [carrier, kept] of carriers) if (nonce >= carrier && nonce <= carrier + kept) review(carrier)
    },
    count(latest, head) {
      for (const carrier of [...carriers.keys()]) {
        const slot = book.get(carrier)
        if (slot?.state !== 'used' || slot.at === undefined || head <= slot.at.number) continue
        // A block later the count would show what the block of the transaction used.
        release(carrier, Math.max(carrier + 1, latest))
      }
    },
  }
}
