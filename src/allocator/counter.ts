import { type Attempt, type Slot, withNewest } from '../ledger/slot.js'
import type { Clock } from '../platform/clock.js'
import type { CounterReading } from './counterReads.js'
import { type CountSlot, createCountPool, OPEN } from './countPool.js'
import { COUNT_MAX, type CountRecord, freedRecord, readRecord, recordOf } from './countRecords.js'

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
  take(reading: reading, head: number | undefined, fell?: boolean): void
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
    readonly reorgHorizon: number
  }
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
  const { clock, limits, report: emit, fill, holder, touched } = options
  const { windowMax, reorgHorizon, reservationTtlMs } = limits
  const changed = new Set<bigint>()
  const pool = createCountPool({ clock, limits, due, changed: (count) => void changed.add(count) })
  /**
   * Counts that were taken and then used in a block that may still leave the chain, with the newest block at
   * that time.
   */
  const used = new Map<bigint, { readonly slot: CountSlot; head: number | undefined }>()
  /** The records of the store until the first reading, which shows where the counter is. */
  let restored: readonly Slot[] | undefined
  let seeded = false
  let floor = 0n
  /** Like `floor`, including the pre-confirmed value. */
  let covered = 0n
  let coveredAtMs = 0
  /** The last reading: a value beyond the cursor must be read twice. */
  let last = 0n

  // --- observations of the chain --------------------------------------------------------------------------

  function take(reading: CounterReading, head: number | undefined, fell = false): void {
    const isFirst = restored !== undefined
    if (restored !== undefined) restoreAt(reading.latest, restored)
    restored = undefined
    // With no count out, only the chain knows the value. Otherwise a value beyond the cursor is due to other
    // users, or to one wrong answer.
    const believed = pool.slots.size === 0 && pool.holes.length === 0
    const limit = believed ? reading.pending : last > pool.cursor ? last : pool.cursor
    last = reading.pending
    const changes: [CounterEvent, bigint][] = []
    let latest = least(reading.latest, limit)
    const shown = least(reading.pending, limit)
    if (latest > floor) pass(latest, head, believed ? undefined : changes)
    // A lagging node also shows a lower value: only a block that left the chain takes a use back.
    else if (fell || isFirst) fall(latest, changes)
    else latest = floor
    cover(shown > latest && shown - latest <= BigInt(windowMax) ? shown : latest)
    seeded = true
    prune(head)
    if (changed.size > 0) touched()
    // Last, because the listener of an event may call back into the counter.
    for (const [event, count] of changes) emit(event, count)
  }

  function pass(to: bigint, head: number | undefined, changes: [CounterEvent, bigint][] | undefined): void {
    // However far other users have moved the counter, events are limited to counts that could have been
    // handed out.
    const end = least(to, pool.cursor + BigInt(windowMax))
    for (let count = floor; changes && count < end; count++) {
      const slot = pool.passed(count)
      if (slot) used.set(count, { slot, head })
      changes.push([slot === undefined ? 'foreign' : USED_AS[slot.state], count])
    }
    floor = to
  }

  /** Forgets the uses that no reorg can take back. */
  function prune(head: number | undefined): void {
    if (head === undefined) return
    for (const [count, use] of used) {
      // The use may have been seen by an earlier process, or before the first block.
      use.head ??= head
      if (head - use.head < reorgHorizon) break
      used.delete(count)
      changed.add(count)
    }
  }

  function fall(to: bigint, changes: [CounterEvent, bigint][]): void {
    floor = to
    for (const [count, { slot }] of used) {
      if (count < to) continue
      used.delete(count)
      pool.hold(count, slot)
      changes.push(['reorged', count])
    }
  }

  function cover(to: bigint): void {
    if (to !== covered) coveredAtMs = clock.now()
    // Counts that other users had used there and use no more may be used again: they are not free.
    const end = least(covered, to + BigInt(windowMax))
    for (let count = to; count < end; count++) if (!pool.slots.has(count)) pool.hold(count, OPEN)
    pool.raise(to)
    covered = to
  }

  // --- deadlines ------------------------------------------------------------------------------------------

  function due(count: bigint): void {
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

  // --- records --------------------------------------------------------------------------------------------

  function record(count: bigint): Slot {
    const slot = pool.slots.get(count)
    if (slot !== undefined) return recordOf({ count, slot, isUsed: false }, holder)
    const use = used.get(count)
    // After a restart nobody has the reservation that another payload was faster than.
    if (use === undefined || use.slot.state === 'open') return freedRecord(count)
    return recordOf({ count, slot: use.slot, isUsed: true }, holder)
  }

  /** The counts below the lowest record are free, unless the chain shows that they are used. */
  function restoreAt(latest: bigint, stored: readonly Slot[]): void {
    const records: CountRecord[] = []
    for (const slot of stored) {
      const one = readRecord(slot, holder)
      if (one === undefined) changed.add(BigInt(slot.nonce))
      else records.push(one)
    }
    records.sort((a, b) => (a.count < b.count ? -1 : 1))
    const [lowest] = records
    if (lowest === undefined) return
    const furthest = lowest.count - BigInt(windowMax)
    floor = latest < lowest.count ? (latest < furthest ? furthest : latest) : lowest.count
    for (const { count, slot, isUsed } of records) {
      if (!isUsed) continue
      used.set(count, { slot, head: undefined })
      floor = count + 1n
    }
    covered = floor
    pool.raise(floor)
    for (const { count, slot, isUsed } of records) if (!isUsed) pool.adopt(count, slot)
  }

  // --- calls ----------------------------------------------------------------------------------------------

  const out = (): number => [...pool.slots.keys()].filter((count) => count >= covered).length
  const taken = (count: bigint) => count < covered || pool.slots.get(count)?.state === 'filling'

  function committed(count: bigint, attempt: Attempt): CountSlot {
    touched()
    return { state: 'live', attempts: withNewest(pool.slots.get(count)?.attempts ?? [], attempt) }
  }

  return {
    take,
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
      if (count >= covered) pool.release(count)
    },
    renew(count) {
      if (pool.slots.has(count)) pool.renew(count)
    },
    get state() {
      const { cursor, holes } = pool
      return seeded ? { floor, cursor, holes: [...holes], inFlight: out() } : undefined
    },
    outstanding: () =>
      [...pool.slots]
        .filter(([, { state }]) => state === 'live')
        .map(([count, { attempts }]) => ({ count, attempts }))
        .sort((a, b) => (a.count < b.count ? -1 : 1)),
    restore(slots) {
      restored = slots
    },
    get: (nonce) => record(BigInt(nonce)),
    takeChanged() {
      const records = [...changed].filter((count) => count <= COUNT_MAX).map(record)
      changed.clear()
      return records
    },
    get hasChanged() {
      return changed.size > 0
    },
    pace: () => (out() > 0 ? 'cadence' : pool.slots.size + used.size > 0 ? 'block' : 'idle'),
    stop: pool.stop,
  }
}

/** The event for a count that the counter has passed. */
const USED_AS = { open: 'foreign', live: 'used', filling: 'gapFilled' } as const

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
