import type { Clock } from '../platform/clock.js'
import type { CounterReading } from './counterReads.js'
import { type CountSlot, createCountPool } from './countPool.js'

/** The state of a counter in contract storage: the counts that are handed out, and the fate of each. */
export type Counter = {
  /**
   * Applies a reading and the newest block at that time. `fell`: a block has left the chain, so the counter
   * may be lower.
   */
  take(reading: CounterReading, head: number, fell?: boolean): void
  /** Whether this many more counts may be out. */
  hasRoom(amount: number): boolean
  /** Hands out the lowest free counts. */
  reserve(amount: number): readonly bigint[]
  /**
   * A payload with this count may be public from now on. Returns false if the count is used, or about to be
   * used up.
   */
  commit(count: bigint): boolean
  /** Takes a count that this process did not hand out, as committed. Returns false as `commit` does. */
  adopt(count: bigint): boolean
  /** Nothing was made public: the count is free again. */
  release(count: bigint): void
  /** The holder of the count reported: its deadline starts again. */
  renew(count: bigint): void
  readonly state: CounterState | undefined
  /** How often to poll: counts are out, or a reorg may bring some back, or neither. */
  pace(): 'cadence' | 'block' | 'idle'
  /** Restarts the timers that `stop` has cancelled. */
  resume(): void
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

export type CounterEvent = 'used' | 'foreign' | 'gap' | 'gapFilled' | 'stuck' | 'reorged'

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
  /** Asks the filler to use up a count. Returns false if there is no filler. */
  readonly fill: (count: bigint) => boolean
}

/**
 * A contract's storage shows the value of its counter, but not the transactions that moved it: no count has
 * evidence of its own. A committed count therefore stays taken until the counter passes it, whatever happens
 * to its payload.
 */
export function createCounter({ clock, limits, report: emit, fill }: CounterOptions): Counter {
  const { windowMax, reorgHorizon, reservationTtlMs } = limits
  const pool = createCountPool({ clock, limits, due })
  /**
   * Counts that were taken and then used in a block that may still leave the chain, with the newest block at
   * that time.
   */
  const used = new Map<bigint, { readonly slot: CountSlot; readonly head: number }>()
  let seeded = false
  let floor = 0n
  /** Like `floor`, including the pre-confirmed value. */
  let covered = 0n
  let coveredAtMs = 0
  /** The last reading: a value beyond the cursor must be read twice. */
  let last = 0n

  // --- observations of the chain --------------------------------------------------------------------------

  function take(reading: CounterReading, head: number, fell = false): void {
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
    else if (fell) fall(latest, changes)
    else latest = floor
    cover(shown > latest && shown - latest <= BigInt(windowMax) ? shown : latest)
    seeded = true
    for (const [count, { head: at }] of used) {
      if (head - at < reorgHorizon) break
      used.delete(count)
    }
    // Last, because the listener of an event may call back into the counter.
    for (const [event, count] of changes) emit(event, count)
  }

  function pass(to: bigint, head: number, changes: [CounterEvent, bigint][] | undefined): void {
    // However far other users have moved the counter, events are limited to counts that could have been
    // handed out.
    const end = least(to, pool.cursor + BigInt(windowMax))
    for (let count = floor; changes && count < end; count++) {
      const slot = pool.passed(count)
      if (slot) used.set(count, { slot, head })
      changes.push([slot === 'live' ? 'used' : slot === 'filling' ? 'gapFilled' : 'foreign', count])
    }
    floor = to
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
    for (let count = to; count < end; count++) if (!pool.slots.has(count)) pool.hold(count, 'open')
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
    if (slot === 'live') {
      if (count === covered && clock.now() - coveredAtMs >= reservationTtlMs) emit('stuck', count)
    } else if (fill(count)) pool.fill(count)
    else emit('gap', count)
  }

  // --- calls ----------------------------------------------------------------------------------------------

  const out = (): number => [...pool.slots.keys()].filter((count) => count >= covered).length
  const taken = (count: bigint) => count < covered || pool.slots.get(count) === 'filling'

  return {
    take,
    hasRoom: (amount) => pool.slots.size + amount <= windowMax || out() + amount <= windowMax,
    reserve: (amount) => Array.from({ length: amount }, pool.next),
    commit(count) {
      if (taken(count)) return false
      pool.hold(count, 'live')
      return true
    },
    adopt(count) {
      if (taken(count)) return false
      pool.adopt(count)
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
    pace: () => (out() > 0 ? 'cadence' : pool.slots.size + used.size > 0 ? 'block' : 'idle'),
    resume: pool.resume,
    stop: pool.stop,
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
