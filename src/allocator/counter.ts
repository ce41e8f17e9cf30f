import { type Attempt, type BlockRef, type Slot, withNewest } from '../ledger/slot.js'
import type { Clock } from '../platform/clock.js'
import { createCounterPosition } from './counterPosition.js'
import type { CounterReading } from './counterReads.js'
import { type CountSlot, createCountPool } from './countPool.js'
import { COUNT_MAX } from './countRecords.js'

/** The state of a counter in contract storage: the counts that are handed out, and the fate of each. */
export type Counter = NonceBook<CounterReading>

/**
 * The numbers of a nonce source that are handed out, and the fate of each. The numbers of a set that has no counter
 * (expiring nonces) only identify its members in the store.
 */
export type NonceBook<reading> = {
  /**
   * Applies a reading and the newest block at that time, if it is known. `fell`: a block has left the chain, so
   * the counter may be lower.
   */
  take(reading: reading, head: BlockRef | undefined, fell?: boolean): void
  /** Whether this many more counts may be out. */
  hasRoom(amount: number): boolean
  /** Hands out the lowest free counts. */
  reserve(amount: number): readonly bigint[]
  /**
   * A payload with this count may be public once `written` has the change. Returns false if the count is used,
   * or about to be used up.
   */
  commit(count: bigint, attempt: Attempt): boolean
  /** Takes a count that this process did not hand out, as committed. Returns false as `commit` does. */
  adopt(count: bigint, attempt: Attempt): boolean
  /** Nothing was made public: the count is free again. */
  release(count: bigint): void
  /** The holder of the count reported: its deadline starts again. */
  renew(count: bigint): void
  readonly state: CounterState | undefined
  /** Committed counts that no sealed block has passed, lowest first, with their payloads, the newest last. */
  outstanding(): readonly { readonly count: bigint; readonly attempts: readonly Attempt[] }[]
  /**
   * Restores the records of the store, before the first reading. Blocks may have left the chain since they were
   * written.
   */
  restore(slots: readonly Slot[]): void
  /** The record of a count. */
  get(nonce: number): Slot | undefined
  /** The records that changed since the last call. */
  takeChanged(): readonly Slot[]
  /** Some records have changed since the last call of `takeChanged`. */
  readonly hasChanged: boolean
  /** No count is out, and blocks up to this one have used all that were. */
  isSettled(upTo: number): boolean
  /** How often to poll: counts are out, or a reorg may bring some back, or neither. */
  pace(): 'cadence' | 'block' | 'idle'
  stop(): void
}

export type CounterState = {
  /** The value of the counter in the newest sealed block. */
  readonly floor: bigint
  /** The next count if there is no hole. */
  readonly cursor: bigint
  /** Counts below the cursor that were given back, lowest first. */
  readonly holes: readonly bigint[]
  /**
   * The number of counts that are handed out and that the counter has not passed, including its pre-confirmed
   * value.
   */
  readonly inFlight: number
}

/** `expired`: the deadline of a committed payload has passed, so it cannot be used any more. Only a set has deadlines. */
export type CounterEvent = 'used' | 'foreign' | 'gap' | 'gapFilled' | 'stuck' | 'reorged' | 'expired'

export type CounterOptions = {
  readonly clock: Clock
  readonly limits: {
    readonly reservationTtlMs: number
    readonly gapFillAfterMs: number
    /** The maximum number of counts that are out. */
    readonly windowMax: number
  }
  /** The highest block that no reorg takes back; -1 while none is known. A record stays until its block is final. */
  readonly finalTo: () => number
  readonly report: (event: CounterEvent, count: bigint) => void
  /** Asks the filler to use up a count, once that is stored. Returns false if there is no filler. */
  readonly fill: (count: bigint) => boolean
  /** The name of this process in the store. */
  readonly holder: string
  /** A record has changed that another process would need. */
  readonly touched: () => void
}

/**
 * A contract's storage shows the value of its counter, but not the transactions that moved it: no count has
 * evidence of its own. A committed count therefore stays taken until the counter passes it, whatever happens
 * to its payload.
 */
export function createCounter(options: CounterOptions): Counter {
  const { clock, limits, report: emit, fill, touched } = options
  const { windowMax, reservationTtlMs } = limits
  const changed = new Set<bigint>()
  const change = (count: bigint) => void changed.add(count)
  const pool = createCountPool({ clock, limits, due, changed: change })
  const position = createCounterPosition({ ...options, pool, changed: change })

  function due(count: bigint): void {
    const { covered, coveredAtMs } = position
    const slot = pool.slots.get(count)
    if (!slot && !pool.holes.includes(count)) return
    pool.renew(count)
    // Passed in a block that is not sealed yet.
    if (count < covered) return
    if (slot?.state === 'live') {
      if (count === covered && clock.now() - coveredAtMs >= reservationTtlMs) emit('stuck', count)
    } else if (fill(count)) {
      pool.fill(count)
      touched()
    } else emit('gap', count)
  }

  const out = (): number => [...pool.slots.keys()].filter((count) => count >= position.covered).length
  const taken = (count: bigint) => count < position.covered || pool.slots.get(count)?.state === 'filling'

  function committed(count: bigint, attempt: Attempt): CountSlot {
    touched()
    return { state: 'live', attempts: withNewest(pool.slots.get(count)?.attempts ?? [], attempt) }
  }

  return {
    take(reading, head, fell) {
      const changes = position.take(reading, head, fell)
      if (changed.size > 0) touched()
      // Last, because the listener of an event may call back into the counter.
      for (const [event, count] of changes) emit(event, count)
    },
    hasRoom: (amount) => pool.slots.size + amount <= windowMax || out() + amount <= windowMax,
    reserve: (amount) => Array.from({ length: amount }, pool.next),
    commit(count, attempt) {
      if (taken(count)) return false
      pool.hold(count, committed(count, attempt))
      return true
    },
    adopt(count, attempt) {
      if (taken(count)) return false
      pool.adopt(count, committed(count, attempt))
      return true
    },
    release(count) {
      if (count >= position.covered) pool.release(count)
    },
    renew(count) {
      if (pool.slots.has(count)) pool.renew(count)
    },
    get state() {
      const { cursor, holes } = pool
      const { floor } = position
      return floor === undefined ? undefined : { floor, cursor, holes: [...holes], inFlight: out() }
    },
    outstanding: () =>
      [...pool.slots]
        .filter(([, { state }]) => state === 'live')
        .map(([count, { attempts }]) => ({ count, attempts }))
        .sort((a, b) => (a.count < b.count ? -1 : 1)),
    restore: position.restore,
    get: (nonce) => position.record(BigInt(nonce)),
    takeChanged() {
      const records = [...changed].filter((count) => count <= COUNT_MAX).map(position.record)
      changed.clear()
      return records
    },
    get hasChanged() {
      return changed.size > 0
    },
    isSettled: (upTo) => out() === 0 && position.usedTo <= upTo,
    pace: () => (out() > 0 ? 'cadence' : pool.slots.size + position.used > 0 ? 'block' : 'idle'),
    stop: pool.stop,
  }
}
