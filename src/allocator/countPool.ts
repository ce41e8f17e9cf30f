import type { Attempt } from '../ledger/slot.js'
import type { Clock } from '../platform/clock.js'
import { createDeadlines } from './deadlines.js'

/** A count that is taken. */
export type CountSlot = {
  /**
   * `open`: nothing was committed. `live`: a payload may be public. `filling`: the filler was asked to use it
   * up.
   */
  readonly state: 'open' | 'live' | 'filling'
  /** The committed payloads, the newest last. */
  readonly attempts: readonly Attempt[]
}

/** A count that was handed out, with nothing committed. */
export const OPEN: CountSlot = { state: 'open', attempts: [] }

/** The counts of a counter that are taken, those that are free again, and their deadlines. */
export type CountPool = {
  /** Counts that are taken and not below the floor. */
  readonly slots: ReadonlyMap<bigint, CountSlot>
  /** Counts below the cursor that were given back, lowest first. */
  readonly holes: readonly bigint[]
  /** The next count if there is no hole. */
  readonly cursor: bigint
  /** Takes the lowest free count. */
  next(): bigint
  /** The count is taken in this way from now on. */
  hold(count: bigint, slot: CountSlot): void
  /** Takes a count from outside. Free counts below it are holes. */
  adopt(count: bigint, slot: CountSlot): void
  /** An open count is free again. */
  release(count: bigint): void
  /** The filler uses up the count. */
  fill(count: bigint): void
  /** The counter has passed the count. Returns how it was taken. */
  passed(count: bigint): CountSlot | undefined
  /** Counts below are not free any more. */
  raise(to: bigint): void
  /** The deadline of the count starts again. */
  renew(count: bigint): void
  stop(): void
}

/**
 * `due`: the deadline of a taken count, or of a hole, is over. `changed`: the count is taken in another way
 * than before, or no longer taken.
 */
export function createCountPool(options: {
  readonly clock: Clock
  readonly limits: { readonly reservationTtlMs: number; readonly gapFillAfterMs: number }
  readonly due: (count: bigint) => void
  readonly changed: (count: bigint) => void
}): CountPool {
  const { clock, limits, due, changed } = options
  const slots = new Map<bigint, CountSlot>()
  const silent = createDeadlines<bigint>({ clock, afterMs: limits.reservationTtlMs, due })
  const unfilled = createDeadlines<bigint>({ clock, afterMs: limits.gapFillAfterMs, due })
  let holes: bigint[] = []
  let cursor = 0n

  function hold(count: bigint, slot: CountSlot): void {
    unfilled.forget(count)
    slots.set(count, slot)
    silent.set(count)
    changed(count)
  }

  function forget(count: bigint): void {
    silent.forget(count)
    unfilled.forget(count)
  }

  return {
    slots,
    get holes() {
      return holes
    },
    get cursor() {
      return cursor
    },
    next() {
      const count = holes.shift() ?? cursor++
      hold(count, OPEN)
      return count
    },
    hold,
    adopt(count, slot) {
      for (; cursor <= count; cursor++) {
        holes.push(cursor)
        unfilled.set(cursor)
      }
      holes = holes.filter((hole) => hole !== count)
      hold(count, slot)
    },
    release(count) {
      if (slots.get(count)?.state !== 'open') return
      slots.delete(count)
      changed(count)
      silent.forget(count)
      unfilled.set(count)
      const at = holes.findIndex((hole) => hole > count)
      holes.splice(at < 0 ? holes.length : at, 0, count)
      while (holes.at(-1) === cursor - 1n) {
        holes.pop()
        forget(--cursor)
      }
    },
    fill(count) {
      holes = holes.filter((hole) => hole !== count)
      slots.set(count, { state: 'filling', attempts: slots.get(count)?.attempts ?? [] })
      changed(count)
    },
    passed(count) {
      const slot = slots.get(count)
      if (slot === undefined) return undefined
      slots.delete(count)
      changed(count)
      silent.forget(count)
      return slot
    },
    raise(to) {
      for (const hole of holes) if (hole < to) forget(hole)
      holes = holes.filter((hole) => hole >= to)
      if (to > cursor) cursor = to
    },
    renew: silent.set,
    stop() {
      silent.stop()
      unfilled.stop()
    },
  }
}
