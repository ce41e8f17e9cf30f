import type { BlockRef, Slot } from '../ledger/slot.js'
import type { CounterEvent, CounterOptions } from './counter.js'
import type { CounterReading } from './counterReads.js'
import { type CountPool, type CountSlot, OPEN } from './countPool.js'
import { freedRecord, readRecords, recordOf } from './countRecords.js'

type Changes = [event: CounterEvent, count: bigint][]

/** The position of a counter on the chain, and the uses that a reorg may take back. */
export type CounterPosition = {
  /** Applies a reading to the pool. Returns the events, in order. */
  take(reading: CounterReading, head: BlockRef | undefined, fell: boolean | undefined): Changes
  /** The counter in the newest sealed block; undefined before the first reading. */
  readonly floor: bigint | undefined
  /** Like `floor`, including the pre-confirmed value. */
  readonly covered: bigint
  /** The time at which the counter reached it. */
  readonly coveredAtMs: number
  /** The number of uses that a reorg may take back. */
  readonly used: number
  /** The highest block of such a use; infinite while it is not known, -1 without one. */
  readonly usedTo: number
  restore(slots: readonly Slot[]): void
  record(count: bigint): Slot
}

export function createCounterPosition(
  options: Pick<CounterOptions, 'clock' | 'limits' | 'holder' | 'finalTo'> & {
    readonly pool: CountPool
    readonly changed: (count: bigint) => void
  },
): CounterPosition {
  const { clock, limits, holder, pool, changed } = options
  const { windowMax } = limits
  const uses = createUses(changed)
  /** The records of the store until the first reading, which shows where the counter is. */
  let restored: readonly Slot[] | undefined
  let seeded = false
  let floor = 0n
  let covered = 0n
  let coveredAtMs = 0
  /** The last reading: a value beyond the cursor must be read twice. */
  let last = 0n

  function take(reading: CounterReading, head: BlockRef | undefined, fell = false): Changes {
    const isFirst = restored !== undefined
    if (restored !== undefined) restoreAt(reading.latest, restored)
    restored = undefined
    // With no count out, only the chain knows the value. Otherwise a value beyond the cursor is due to other
    // users, or to one wrong answer.
    const believed = pool.slots.size === 0 && pool.holes.length === 0
    const limit = believed ? reading.pending : last > pool.cursor ? last : pool.cursor
    last = reading.pending
    const changes: Changes = []
    let latest = least(reading.latest, limit)
    const shown = least(reading.pending, limit)
    if (latest > floor) pass(latest, head, believed ? undefined : changes)
    // A lagging node also shows a lower value: only a block that left the chain takes a use back.
    else if (fell || isFirst) fall(latest, changes)
    else latest = floor
    cover(shown > latest && shown - latest <= BigInt(windowMax) ? shown : latest)
    seeded = true
    if (head !== undefined) uses.shownAt(head, fell)
    uses.prune(options.finalTo())
    return changes
  }

  function pass(to: bigint, head: BlockRef | undefined, changes: Changes | undefined): void {
    // However far other users have moved the counter, events are limited to counts that could have been
    // handed out.
    const end = least(to, pool.cursor + BigInt(windowMax))
    for (let count = floor; changes && count < end; count++) {
      const slot = pool.passed(count)
      if (slot) uses.add(count, slot, head)
      changes.push([slot === undefined ? 'foreign' : USED_AS[slot.state], count])
    }
    floor = to
  }

  function fall(to: bigint, changes: Changes): void {
    floor = to
    for (const [count, slot] of uses.takeBack(to)) {
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

  function record(count: bigint): Slot {
    const slot = pool.slots.get(count)
    if (slot !== undefined) return recordOf({ count, slot, isUsed: false }, holder)
    const use = uses.get(count)
    // After a restart nothing depends on a reservation whose nonce another payload used.
    if (use === undefined || use.state === 'open') return freedRecord(count)
    return recordOf({ count, slot: use, isUsed: true, at: uses.at(count) }, holder)
  }

  /** The counts below the lowest record are free, unless the chain shows that they are used. */
  function restoreAt(latest: bigint, stored: readonly Slot[]): void {
    const { records, ended } = readRecords(stored, holder)
    for (const count of ended) changed(count)
    const [lowest] = records
    if (lowest === undefined) return
    const furthest = lowest.count - BigInt(windowMax)
    floor = least(latest < furthest ? furthest : latest, lowest.count)
    for (const { count, slot, isUsed, at } of records) {
      if (!isUsed) continue
      uses.add(count, slot, at)
      floor = count + 1n
    }
    covered = floor
    pool.raise(floor)
    for (const { count, slot, isUsed } of records) if (!isUsed) pool.adopt(count, slot)
  }

  return {
    take,
    get floor() {
      return seeded ? floor : undefined
    },
    get covered() {
      return covered
    },
    get coveredAtMs() {
      return coveredAtMs
    },
    get used() {
      return uses.size
    },
    get usedTo() {
      return uses.upTo
    },
    restore(slots) {
      restored = slots
    },
    record,
  }
}

/** Counts that were taken and then used in a block that may still leave the chain. */
function createUses(changed: (count: bigint) => void) {
  // `at`: the newest block at the time of the use, which is in this block or below. Counts are used in order.
  const used = new Map<bigint, { readonly slot: CountSlot; at: BlockRef | undefined }>()
  let upTo = -1
  return {
    get size() {
      return used.size
    },
    get upTo() {
      return used.size === 0 ? -1 : upTo
    },
    get: (count: bigint) => used.get(count)?.slot,
    at: (count: bigint) => used.get(count)?.at,
    add(count: bigint, slot: CountSlot, at: BlockRef | undefined): void {
      upTo = Math.max(used.size === 0 ? -1 : upTo, at?.number ?? Number.POSITIVE_INFINITY)
      used.set(count, { slot, at })
    },
    /** The uses from this count on did not happen. */
    takeBack(from: bigint): readonly (readonly [bigint, CountSlot])[] {
      const back = [...used]
        .filter(([count]) => count >= from)
        .map(([count, { slot }]) => [count, slot] as const)
      for (const [count] of back) used.delete(count)
      return back
    },
    /** The chain up to this block shows the uses. `anew`: a block has left, so they may have moved to others. */
    shownAt(head: BlockRef, anew: boolean): void {
      if (!anew && Number.isFinite(upTo)) return
      upTo = head.number
      for (const [count, use] of used) {
        if (!anew && use.at !== undefined) continue
        use.at = head
        changed(count)
      }
    },
    /** Forgets the uses that no reorg can take back. */
    prune(finalTo: number): void {
      for (const [count, { at }] of used) {
        if (at === undefined || at.number > finalTo) break
        used.delete(count)
        changed(count)
      }
    },
  }
}

/** The event for a count that the counter has passed. */
const USED_AS = { open: 'foreign', live: 'used', filling: 'gapFilled' } as const

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
