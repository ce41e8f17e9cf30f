import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'

type PendingBlocksParts = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'tracker'>
}

/**
 * Own transactions in pending blocks: their pre-confirmations, and the meaning of the endpoint's
 * count.
 */
export type PendingBlocks = {
  /** Own hashes in the pending block of that number. */
  shown(blockNumber: number, own: readonly Hash[]): void
  /** Own hashes that an external feed reports as pre-confirmed. */
  reported(blockNumber: number, own: readonly Hash[]): void
  /** A block was sealed. */
  sealed(blockNumber: number): void
  /** A `pending` count was read. The profile learns from it whether the count includes the pool. */
  counted(pending: number, askedAtMs: number): void
  /** The counts of a tick were applied. */
  countsTaken(): void
}

/** Maximum distance between the newest sealed block and the block of a feed, or a pending block. */
const AHEAD_MAX = 16

export function createPendingBlocks({ lane, endpointPool }: PendingBlocksParts): PendingBlocks {
  const { book } = lane
  const { tracker } = endpointPool
  // The highest own nonce seen in the pending block since the last comparison with the count.
  let highest: number | undefined
  // Own transactions in the newest pending block that were not applied yet, because a node may have built
  // that block from its pool.
  let unapplied: { readonly nonce: number; readonly hash: Hash; readonly number: number }[] = []

  /** Some nodes build a pending block from their pool. Its transactions are not pre-confirmed. */
  function applyShown(): void {
    if (endpointPool.reader.profile.current().pending !== 'preconfirmed') return
    const head = tracker.head?.number ?? 0
    for (const { nonce, hash, number } of unapplied.splice(0))
      if (number > head) lane.apply(nonce, { type: 'preconfirmed', hash, blockNumber: number })
  }

  /** Limits the number, because a number that no sealed block reaches could never be checked. */
  function reachable(blockNumber: number): number {
    return Math.min(blockNumber, (tracker.head?.number ?? 0) + AHEAD_MAX)
  }

  return {
    shown(blockNumber, own) {
      const number = reachable(blockNumber)
      if (unapplied[0]?.number !== number) unapplied = []
      for (const hash of own) {
        const nonce = book.nonceOf(hash)
        if (nonce === undefined) continue
        highest = Math.max(nonce, highest ?? 0)
        unapplied.push({ nonce, hash, number })
      }
      applyShown()
    },
    reported(blockNumber, own) {
      const number = reachable(blockNumber)
      for (const hash of own) {
        const nonce = book.nonceOf(hash)
        if (nonce !== undefined) lane.apply(nonce, { type: 'preconfirmed', hash, blockNumber: number })
      }
      lane.noteCovered()
    },
    sealed(blockNumber) {
      // A transaction that was pre-confirmed for this block number, and is not in the block, was withdrawn.
      for (const nonce of book.preconfirmedUpTo(blockNumber)) {
        const slot = book.get(nonce)
        if (slot?.state !== 'live' || slot.preconfirmed === undefined) continue
        lane.apply(nonce, { type: 'notPreconfirmed', blockNumber: slot.preconfirmed.blockNumber })
      }
    },
    counted(pending, askedAtMs) {
      endpointPool.reader.profile.observe(
        highest === undefined
          ? { kind: 'countWithoutBlock', count: pending, askedAtMs }
          : { kind: 'countWithBlock', nonce: highest, count: pending },
      )
    },
    countsTaken() {
      highest = undefined
      applyShown()
    },
  }
}
