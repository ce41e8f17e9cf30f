import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { Look } from '../../chain/blocks/follower.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import type { Broadcaster } from '../broadcast/broadcast.js'

type PendingBlocksParts = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'tracker'>
}

/**
 * Own transactions in pending blocks: their pre-confirmations, and the meaning of the endpoint's
 * count.
 */
type PendingBlocks = {
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

type RefreshesContext = {
  readonly endpointPool: Pick<EndpointPool, 'reader'>
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Notifies the delivery of a refresh: the sealed blocks of a tick, which count as one because they were seen
 * together, or a pending block that shows pre-confirmations. A node rebuilds its pending block at a steady
 * pace, and an empty one looks like the one before.
 */
export function createRefreshes(
  { clock, endpointPool }: RefreshesContext,
  broadcaster: Pick<Broadcaster, 'refreshed'>,
) {
  // A block was sealed since the last tick.
  let isSealed = false
  const profile = () => endpointPool.reader.profile.current()
  const watch = createRefreshWatch(clock)

  return {
    sealed(): void {
      isSealed = true
    },
    ticked(look: Look): void {
      const isRefresh = profile().pending === 'preconfirmed' && watch.isNew(look)
      if (isSealed || isRefresh) {
        const isInformative = broadcaster.refreshed({ sealed: isSealed, askedAtMs: look.askedAtMs })
        // If the poll said nothing about recent sends, the next poll may be the first that can show them.
        if (isInformative) watch.noteUsed(look)
      }
      isSealed = false
    },
  }
}

/**
 * Selects the polls whose pending block was rebuilt since the last poll that said something about earlier
 * sends.
 */
type RefreshWatch = {
  isNew(look: Look): boolean
  /** The poll said something about earlier sends, which a poll too soon after a send does not. */
  noteUsed(look: Look): void
}

/** Two polls that are closer than this part of the period may have seen the same pending block. */
const PERIOD_PART = 3 / 4

export function createRefreshWatch(clock: Pick<Clock, 'now'>): RefreshWatch {
  let last: Pick<Look, 'refreshes'> & { readonly atMs: number } = {
    atMs: Number.NEGATIVE_INFINITY,
    refreshes: undefined,
  }
  return {
    isNew({ hasPending, refreshes, refreshMs }) {
      if (!hasPending) return false
      // An empty pending block looks like the previous one. If the rhythm is known, it gives the number of
      // refreshes.
      if (refreshes !== undefined && last.refreshes !== undefined) return refreshes !== last.refreshes
      return clock.now() - last.atMs >= refreshMs * PERIOD_PART
    },
    noteUsed({ refreshes }) {
      last = { atMs: clock.now(), refreshes }
    },
  }
}
