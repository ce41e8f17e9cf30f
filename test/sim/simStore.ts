import type { Hash } from 'viem'
import { TxlaneError } from '../../src/errors/base.js'
import type { Clock, Random } from '../../src/platform/clock.js'
import { memoryStore } from '../../src/store/memory.js'
import type { Lease, Store, StoredTransaction } from '../../src/types/store.js'
import { chance } from './random.js'

/** The faults of a store. Probabilities, and virtual milliseconds. */
export type StoreFaults = {
  /** The longest duration of a verb; most are shorter. */
  delayMsMax: number
  /** A commit succeeds, and its answer is lost. */
  lostAnswer: number
  /** A commit fails, without an answer. */
  lostCommit: number
}

export const NO_STORE_FAULTS: Readonly<StoreFaults> = { delayMsMax: 0, lostAnswer: 0, lostCommit: 0 }

/** A store that outlives the processes that use it. */
export type SimStore = {
  /** Opens the store for one process. */
  open(): OpenSimStore
  /** Attempts that were ever committed: no others may be seen on the wire (P6). */
  readonly journaled: ReadonlySet<Hash>
  /** Transactions that a write handed to another lane. */
  readonly handed: ReadonlySet<string>
}

export type OpenSimStore = {
  readonly store: Store
  /** The process is gone, and the leases that it has, or is about to get, expire at once. */
  expire(): Promise<void>
}

export function createSimStore(options: {
  readonly clock: Clock
  readonly random: Random
  /**
   * A separate stream for hints, on which no promise depends, so that found seeds keep their worlds.
   * @default hints take no time
   */
  readonly hints?: Random
  /** Read at each verb: later changes apply from then on. */
  readonly faults: StoreFaults
  readonly strike: (fault: string) => void
  /** Called with each committed transaction. @default nothing */
  readonly onStored?: (transaction: StoredTransaction) => void
}): SimStore {
  const { clock, random, hints, faults, strike, onStored } = options
  // Like SQLite, whose processes share the wall clock of their machine.
  const inner = memoryStore({ now: clock.wallNow })
  const journaled = new Set<Hash>()
  const handed = new Set<string>()
  function delay(): Promise<void> | undefined {
    if (faults.delayMsMax === 0) return undefined
    strike('delayMsMax')
    return new Promise((resolve) => clock.setTimer(resolve, random() ** 3 * faults.delayMsMax))
  }

  function strikes(fault: 'lostAnswer' | 'lostCommit'): boolean {
    const struck = chance(random, faults[fault])
    if (struck) strike(fault)
    return struck
  }

  /** Hints are as slow, and as often lost, as answers. */
  async function hinted<T>(verb: () => Promise<T>): Promise<T> {
    if (hints === undefined) return verb()
    const delayMs = hints() ** 3 * faults.delayMsMax
    if (delayMs > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, delayMs))
    if (chance(hints, faults.lostCommit)) throw unknownCommit()
    return verb()
  }

  /** The same for every verb: a delay before it, and a delay before its answer. */
  async function slowly<T>(verb: () => Promise<T>): Promise<T> {
    await delay()
    const result = await verb()
    await delay()
    return result
  }

  function open(): OpenSimStore {
    const leases = new Map<string, Lease>()
    let expired = false
    return {
      async expire() {
        expired = true
        for (const lease of leases.values()) await inner.release(lease)
      },
      store: {
        ...inner,
        durable: true,
        async acquire(lane, holder, ttlMs) {
          const lease = await slowly(() => inner.acquire(lane, holder, ttlMs))
          if (lease !== undefined) leases.set(lane.address, lease)
          if (expired && lease !== undefined) await inner.release(lease)
          return lease
        },
        report: (reports) => hinted(() => inner.report(reports)),
        reports: (lanes) => hinted(() => inner.reports(lanes)),
        takeOutbox: (name, holder, ttlMs) => hinted(() => inner.takeOutbox(name, holder, ttlMs)),
        releaseOutbox: (lease) => hinted(() => inner.releaseOutbox(lease)),
        writeOutbox: (lease, change) => hinted(() => inner.writeOutbox(lease, change)),
        readOutbox: (name) => hinted(() => inner.readOutbox(name)),
        deliveries: (name, by) => hinted(() => inner.deliveries(name, by)),
        renew: (holder, ttlMs) => slowly(() => inner.renew(holder, ttlMs)),
        load: (held) => slowly(() => inner.load(held)),
        enqueue: (transactions) => slowly(() => inner.enqueue(transactions)),
        postCommand: (chain, id, command) => slowly(() => inner.postCommand(chain, id, command)),
        arrivals: (lane, after, limit) => slowly(() => inner.arrivals(lane, after, limit)),
        changes: (lane, revision, limit) => slowly(() => inner.changes(lane, revision, limit)),
        find: (chain, by) => slowly(() => inner.find(chain, by)),
        async write(held, change) {
          await delay()
          if (strikes('lostCommit')) throw unknownCommit()
          await inner.write(held, change)
          for (const transaction of change.transactions) {
            const { lane, id } = transaction
            if (lane.address !== held.lane.address) handed.add(id)
            onStored?.(transaction)
          }
          for (const slot of change.slots) for (const attempt of slot.attempts) journaled.add(attempt.hash)
          await delay()
          if (strikes('lostAnswer')) throw unknownCommit()
        },
      },
    }
  }

  return { journaled, handed, open }
}

function unknownCommit(): TxlaneError {
  return new TxlaneError('The connection was lost before the commit was answered.', {
    code: 'STORE',
    fate: 'inFlight',
    details: 'unknown',
  })
}
