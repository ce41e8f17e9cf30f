import type { Clock } from '../platform/clock.js'
import { createDeadlines } from './deadlines.js'

/**
 * `open`: nothing was committed. `live`: a payload may be public. `filling`: the filler was asked to use it
 * up.
 */
export type CountSlot = 'open' | 'live' | 'filling'

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
  /** Takes a committed count from outside. Free counts below it are holes. */
  adopt(count: bigint): void
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
  /** Restarts the deadlines that `stop` has cancelled. */
  resume(): void
  stop(): void
}

/** `due`: the deadline of a taken count, or of a hole, is over. */
export function createCountPool(options: {
  readonly clock: Clock
  readonly limits: { readonly reservationTtlMs: number; readonly gapFillAfterMs: number }
  readonly due: (count: bigint) => void
}): CountPool {
  const { clock, limits, due } = options
  const slots = new Map<bigint, CountSlot>()
  const silent = createDeadlines<bigint>({ clock, afterMs: limits.reservationTtlMs, due })
  const unfilled = createDeadlines<bigint>({ clock, afterMs: limits.gapFillAfterMs, due })
  let holes: bigint[] = []
  let cursor = 0n

  function hold(count: bigint, slot: CountSlot): void {
    unfilled.forget(count)
    slots.set(count, slot)
    silent.set(count)
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
      hold(count, 'open')
      return count
    },
    hold,
    adopt(count) {
      for (; cursor <= count; cursor++) {
        holes.push(cursor)
        unfilled.set(cursor)
      }
      holes = holes.filter((hole) => hole !== count)
      hold(count, 'live')
    },
    release(count) {
      if (slots.get(count) !== 'open') return
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
    fill(count) {
      holes = holes.filter((hole) => hole !== count)
      slots.set(count, 'filling')
    },
    passed(count) {
      const slot = slots.get(count)
      if (slot === undefined) return undefined
      slots.delete(count)
      silent.forget(count)
      return slot
    },
    raise(to) {
      for (const hole of holes) if (hole < to) forget(hole)
      holes = holes.filter((hole) => hole >= to)
      if (to > cursor) cursor = to
    },
    renew: silent.set,
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
