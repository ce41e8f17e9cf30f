import type { Hash } from 'viem'
import type { Clock, Random } from '../../src/clock.js'
import { TxlaneError } from '../../src/errors/base.js'
import { memoryStore } from '../../src/store/memory.js'
import type { Lease, Store } from '../../src/store/store.js'
import { chance } from './random.js'

/** What a store does wrong. Probabilities, and virtual milliseconds. */
export type StoreFaults = {
  /** The longest that a verb takes; most take less. */
  delayMsMax: number
  /** A commit takes, and its answer is lost. */
  lostAnswer: number
  /** A commit does not take, and nobody is told so. */
  lostCommit: number
}

export const NO_STORE_FAULTS: Readonly<StoreFaults> = { delayMsMax: 0, lostAnswer: 0, lostCommit: 0 }

/** A store that outlives the processes that use it. */
export type SimStore = {
  readonly store: Store
  /** Attempts that were ever committed: nothing else may be seen on the wire (P6). */
  readonly journaled: ReadonlySet<Hash>
  /** The holder is gone and its lease has run out: the next one may take over. */
  expire(): Promise<void>
}

export function createSimStore(options: {
  readonly clock: Clock
  readonly random: Random
  /** Read at each verb: what is written into it later counts from then on. */
  readonly faults: StoreFaults
  readonly strike: (fault: string) => void
}): SimStore {
  const { clock, random, faults, strike } = options
  const inner = memoryStore({ now: clock.now })
  const journaled = new Set<Hash>()
  let lease: Lease | undefined
  // Leases taken by processes up to this one have run out, those too that are only on their way to it.
  let generation = 0

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

  /** The same for every verb: time before it, and time before its answer. */
  async function slowly<T>(verb: () => Promise<T>): Promise<T> {
    await delay()
    const result = await verb()
    await delay()
    return result
  }

  return {
    journaled,
    async expire() {
      generation++
      if (lease !== undefined) await inner.release(lease)
    },
    store: {
      ...inner,
      async acquire(lane, holder, ttlMs) {
        const mine = generation
        const taken = await slowly(() => inner.acquire(lane, holder, ttlMs))
        if (mine === generation) lease = taken ?? lease
        else if (taken !== undefined) await inner.release(taken)
        return taken
      },
      load: (held) => slowly(() => inner.load(held)),
      enqueue: (transactions) => slowly(() => inner.enqueue(transactions)),
      find: (chain, by) => slowly(() => inner.find(chain, by)),
      async write(held, change) {
        await delay()
        if (strikes('lostCommit')) throw unknownCommit()
        await inner.write(held, change)
        for (const slot of change.slots) for (const attempt of slot.attempts) journaled.add(attempt.hash)
        await delay()
        if (strikes('lostAnswer')) throw unknownCommit()
      },
    },
  }
}

function unknownCommit(): TxlaneError {
  return new TxlaneError('The connection was lost before the commit was answered.', {
    code: 'STORE',
    fate: 'inFlight',
    details: 'unknown',
  })
}
