import type { Clock } from '../platform/clock.js'
import type { CounterReading } from './counterReads.js'
import { createDeadlines } from './deadlines.js'

/** The books of a counter in contract storage: which counts are handed out, and what became of them. */
export type Counter = {
  /** What was read, and the newest block then. `fell`: a block has left the chain, so the counter may be lower. */
  take(reading: CounterReading, head: number, fell?: boolean): void
  /** Whether so many more may be out. */
  hasRoom(amount: number): boolean
  /** The lowest ones free. */
  reserve(amount: number): readonly bigint[]
  /** A payload with this count may be public from now on. False where something has used it, or is about to. */
  commit(count: bigint): boolean
  /** Takes a count that was not handed out in this life, as committed. False as with `commit`. */
  adopt(count: bigint): boolean
  /** Nothing was made public: the count is free again. */
  release(count: bigint): void
  /** It was heard of: its time begins anew. */
  renew(count: bigint): void
  readonly state: CounterState | undefined
  /** How closely to look: counts are out, or a reorg may bring some back, or neither. */
  pace(): 'cadence' | 'block' | 'idle'
  /** Sets the times anew that `stop` has taken back. */
  resume(): void
  stop(): void
}

export type CounterState = {
  /** What the counter stood at in the newest sealed block. */
  readonly floor: bigint
  /** The next count when there is no hole. */
  readonly cursor: bigint
  /** Given back below the cursor, lowest first. */
  readonly holes: readonly bigint[]
  /** Handed out, and not passed by the counter, with what is pre-confirmed. */
  readonly inFlight: number
}

export type CounterEvent = 'used' | 'foreign' | 'gap' | 'gapFilled' | 'stuck' | 'reorged'

/** `open`: nothing was committed; `live`: a payload may be public; `filling`: somebody was asked to use it up. */
type Slot = 'open' | 'live' | 'filling'

export type CounterOptions = {
  readonly clock: Clock
  readonly limits: {
    readonly reservationTtlMs: number
    readonly gapFillAfterMs: number
    /** Counts out at most. */
    readonly windowMax: number
    readonly reorgHorizon: number
  }
  readonly tell: (event: CounterEvent, count: bigint) => void
  /** Asks somebody to use up a count. False where there is nobody. */
  readonly fill: (count: bigint) => boolean
}

/**
 * A contract's storage tells how far its counter is, not what moved it there: no count has evidence of its own. So
 * what was committed stays taken until the counter passes it, whatever became of who carried it.
 */
export function createCounter({ clock, limits, tell, fill }: CounterOptions): Counter {
  const { windowMax, reorgHorizon, reservationTtlMs } = limits
  /** Taken, and not below the floor. */
  const slots = new Map<bigint, Slot>()
  /** Taken once and used in a block that may still leave the chain: the newest block then. */
  const used = new Map<bigint, { readonly slot: Slot; readonly head: number }>()
  const silent = createDeadlines<bigint>({ clock, afterMs: reservationTtlMs, due })
  const unfilled = createDeadlines<bigint>({ clock, afterMs: limits.gapFillAfterMs, due })
  let holes: bigint[] = []
  let seeded = false
  let floor = 0n
  /** As `floor`, with what is pre-confirmed. */
  let covered = 0n
  let coveredAtMs = 0
  let cursor = 0n
  /** The last reading: what is beyond the cursor must be read twice. */
  let last = 0n

  // --- what the chain says -----------------------------------------------------------------------------------

  function take(reading: CounterReading, head: number, fell = false): void {
    // With nothing out the chain alone knows. Else what is beyond the cursor is others' work, or one bad answer.
    const believed = slots.size === 0 && holes.length === 0
    const limit = believed ? reading.pending : last > cursor ? last : cursor
    last = reading.pending
    const told: [CounterEvent, bigint][] = []
    let latest = least(reading.latest, limit)
    const shown = least(reading.pending, limit)
    if (latest > floor) pass(latest, head, believed ? undefined : told)
    // A node that lags behind tells of less, too: only a block that left takes a use back.
    else if (fell) fall(latest, told)
    else latest = floor
    cover(shown > latest && shown - latest <= BigInt(windowMax) ? shown : latest)
    seeded = true
    for (const [count, { head: at }] of used) {
      if (head - at < reorgHorizon) break
      used.delete(count)
    }
    // Last, since who hears of it may come back with a call.
    for (const [event, count] of told) tell(event, count)
  }

  function pass(to: bigint, head: number, told: [CounterEvent, bigint][] | undefined): void {
    // However far others have moved it, no more is told of than could have been handed out.
    const end = least(to, cursor + BigInt(windowMax))
    for (let count = floor; told && count < end; count++) {
      const slot = slots.get(count)
      if (slot) {
        slots.delete(count)
        silent.forget(count)
        used.set(count, { slot, head })
      }
      told.push([slot === 'live' ? 'used' : slot === 'filling' ? 'gapFilled' : 'foreign', count])
    }
    floor = to
  }

  function fall(to: bigint, told: [CounterEvent, bigint][]): void {
    floor = to
    for (const [count, { slot }] of used) {
      if (count < to) continue
      used.delete(count)
      hold(count, slot)
      told.push(['reorged', count])
    }
  }

  function cover(to: bigint): void {
    if (to !== covered) coveredAtMs = clock.now()
    // What others used there, and uses no more, may be used again: it is not free.
    const end = least(covered, to + BigInt(windowMax))
    for (let count = to; count < end; count++) if (!slots.has(count)) hold(count, 'open')
    for (const hole of holes) if (hole < to) forget(hole)
    holes = holes.filter((hole) => hole >= to)
    covered = to
    if (to > cursor) cursor = to
  }

  // --- what time says ----------------------------------------------------------------------------------------

  function due(count: bigint): void {
    const hole = holes.includes(count)
    const slot = slots.get(count)
    if (!hole && !slot) return
    silent.set(count)
    // Passed in a block that is not sealed yet.
    if (count < covered) return
    if (slot === 'live') {
      if (count === covered && clock.now() - coveredAtMs >= reservationTtlMs) tell('stuck', count)
    } else if (!fill(count)) tell('gap', count)
    else {
      if (hole) holes.splice(holes.indexOf(count), 1)
      slots.set(count, 'filling')
    }
  }

  // --- what the caller does ----------------------------------------------------------------------------------

  function hold(count: bigint, slot: Slot): void {
    unfilled.forget(count)
    slots.set(count, slot)
    silent.set(count)
  }

  function forget(count: bigint): void {
    silent.forget(count)
    unfilled.forget(count)
  }

  function out(): number {
    return [...slots.keys()].filter((count) => count >= covered).length
  }

  function next(): bigint {
    const count = holes.shift() ?? cursor++
    hold(count, 'open')
    return count
  }

  const taken = (count: bigint) => count < covered || slots.get(count) === 'filling'

  return {
    take,
    hasRoom: (amount) => slots.size + amount <= windowMax || out() + amount <= windowMax,
    reserve: (amount) => Array.from({ length: amount }, next),
    commit(count) {
      if (taken(count)) return false
      hold(count, 'live')
      return true
    },
    adopt(count) {
      if (taken(count)) return false
      for (; cursor <= count; cursor++) {
        holes.push(cursor)
        unfilled.set(cursor)
      }
      holes = holes.filter((hole) => hole !== count)
      hold(count, 'live')
      return true
    },
    release(count) {
      if (slots.get(count) !== 'open' || count < covered) return
      slots.delete(count)
      silent.forget(count)
      unfilled.set(count)
      const at = holes.findIndex((hole) => hole > count)
      holes.splice(at < 0 ? holes.length : at, 0, count)
      while (holes.at(-1) === cursor - 1n) {
        holes.pop()
        forget(--cursor)
      }
    },
    renew(count) {
      if (slots.has(count)) silent.set(count)
    },
    get state() {
      return seeded ? { floor, cursor, holes: [...holes], inFlight: out() } : undefined
    },
    pace: () => (out() > 0 ? 'cadence' : slots.size + used.size > 0 ? 'block' : 'idle'),
    resume() {
      for (const hole of holes) unfilled.set(hole)
      for (const count of slots.keys()) silent.set(count)
    },
    stop() {
      silent.stop()
      unfilled.stop()
    },
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
