import { createMinHeap, type MinHeap } from './heap.js'
import type { NonceMap, ReadonlyNonceMap } from './nonceMap.js'
import { isBound, isUsed, NOTHING, type Outside, type Slot } from './slot.js'

/**
 * A lane can skip at most this many nonces at once by its own sends. A larger jump comes from an invented
 * number of a node.
 */
export const HOLES_MAX = 65_536

/**
 * The positions of a book: where its used nonces end and its new ones begin, and the nonces in between that
 * have no slot of their own. It adds holes to the slots, and removes holes and final slots that no position
 * needs.
 */
type NonceRange = {
  /** The positions as in `Book`. */
  readonly base: number
  readonly floor: number
  readonly cursor: number
  readonly confirmedTo: number
  readonly supposedTo: number
  /** The slot of a nonce, or the one that the hypothesis gives it. */
  slotAt(nonce: number): Slot | undefined
  /** The nonce has this new slot: moves the positions accordingly. */
  placed(nonce: number, slot: Slot): void
  suppose(to: number): boolean
  /** Declares every nonce below `nonce` used. */
  raise(nonce: number): void
  /** Declares every nonce from `nonce` upwards unused, unless it has a slot. */
  lower(nonce: number): void
  lowestHole(): number | undefined
  /** At most `limit` unfinished slots from `start` upwards. */
  unfinishedFrom(start: number, limit: number): Slot[]
}

export function createNonceRange(slots: NonceMap<Slot>, start: number): NonceRange {
  const holes = createMinHeap()
  const hypothesis = createHypothesis()
  // A nonce below `base` without a slot is used: it was pruned, or used before this process started. The
  // floor itself may be lower if a reorg gave a nonce back.
  let base = start
  let floor = start
  let cursor = start
  let confirmedTo = start

  const slotAt = (nonce: number): Slot | undefined =>
    slots.get(nonce) ?? (nonce < base ? undefined : hypothesis.slotAt(nonce))

  /** Skipped nonces (handed out above, or used by other senders) are holes until more is known. */
  function raiseCursor(nonce: number): void {
    // This library never skips that many nonces. The cursor was too low because of an invented number of a
    // node.
    if (nonce - cursor > HOLES_MAX) suppose(nonce)
    for (let skipped = cursor; skipped < nonce; skipped++) addHole(slots, holes, skipped)
    cursor = Math.max(cursor, nonce + 1)
  }

  /** Row 3: unbound nonces at the top are new again. Their attempts stay in the map. */
  function lowerCursor(): void {
    for (let top = slots.get(cursor - 1); top?.state === 'hole'; top = slots.get(cursor - 1)) {
      cursor--
      base = Math.min(base, cursor)
      if (top.attempts.length === 0) slots.delete(cursor)
    }
    hypothesis.to = Math.min(hypothesis.to, cursor)
  }

  /** The next nonce, or the end of the run of used nonces that contains this one. */
  const after = (nonce: number): number =>
    slots.has(nonce) || nonce >= base ? nonce + 1 : endOfRun(slots, nonce, base)

  function suppose(to: number): boolean {
    const end = hypothesis.to
    if (to >= end) {
      hypothesis.to = to
      cursor = Math.max(cursor, to)
      return true
    }
    const from = Math.max(to, base)
    const top = Math.max(from, endOfBound(slots, base))
    if (Math.min(end, top) - from > HOLES_MAX) return false
    hypothesis.to = to
    for (let nonce = from; nonce < Math.min(end, top); nonce++) addHole(slots, holes, nonce)
    for (const [nonce, { attempts }] of slots) if (nonce >= top && attempts.length === 0) slots.delete(nonce)
    cursor = top
    lowerCursor()
    return true
  }

  function moveFloor(nonce: number): void {
    if (!isUsedAt(slots, nonce, base)) floor = Math.min(floor, nonce)
    while (isUsedAt(slots, floor, base)) {
      const above = after(floor)
      // Dropping a final slot loses nothing: a nonce below the base without a slot is used.
      if (slots.get(floor)?.state === 'final') slots.delete(floor)
      floor = above
      base = Math.max(base, floor)
    }
    if (nonce < floor && slots.get(nonce)?.state === 'final') slots.delete(nonce)
    cursor = Math.max(cursor, base)
    if (!isConfirmedAt(slots, nonce, base)) confirmedTo = Math.min(confirmedTo, nonce)
    confirmedTo = Math.max(confirmedTo, floor)
    while (isConfirmedAt(slots, confirmedTo, base)) confirmedTo = after(confirmedTo)
  }

  return {
    get base() {
      return base
    },
    get floor() {
      return floor
    },
    get cursor() {
      return cursor
    },
    get confirmedTo() {
      return confirmedTo
    },
    get supposedTo() {
      return hypothesis.to
    },
    slotAt,
    placed(nonce, slot) {
      if (slot.state === 'hole') holes.push(nonce)
      if (isBound(slot)) raiseCursor(nonce)
      else lowerCursor()
      moveFloor(nonce)
    },
    suppose,
    raise(nonce) {
      base = Math.max(base, nonce)
      moveFloor(floor)
    },
    lower(nonce) {
      if (nonce >= base) return
      suppose(Math.max(base, hypothesis.to))
      base = nonce
      floor = Math.min(floor, nonce)
      moveFloor(floor)
    },
    lowestHole: () => lowestIn(holes, slots, cursor, isHole),
    unfinishedFrom(start, limit) {
      const found: Slot[] = []
      for (let nonce = start; nonce < cursor && found.length < limit; nonce = after(nonce)) {
        const slot = slotAt(nonce)
        if (slot?.state === 'live' || slot?.state === 'outside') found.push(slot)
      }
      return found
    },
  }
}

/**
 * The lowest nonce of the heap that is below `end` and whose slot has the property. Nonces before it are
 * stale, and are removed from the heap.
 */
export function lowestIn(
  heap: MinHeap,
  slots: ReadonlyNonceMap<Slot>,
  end: number,
  has: (slot: Slot | undefined) => boolean,
): number | undefined {
  for (let nonce = heap.peek(); nonce !== undefined; nonce = heap.peek()) {
    if (nonce < end && has(slots.get(nonce))) return nonce
    heap.pop()
  }
  return undefined
}

const isHole = (slot: Slot | undefined): boolean => slot?.state === 'hole'

function addHole(slots: NonceMap<Slot>, holes: MinHeap, nonce: number): void {
  const slot = slots.get(nonce)
  if (slot === undefined) slots.set(nonce, { state: 'hole', nonce, attempts: [] })
  if (slot === undefined || slot.state === 'hole') holes.push(nonce)
}

function isUsedAt(slots: ReadonlyNonceMap<Slot>, nonce: number, base: number): boolean {
  const slot = slots.get(nonce)
  return slot === undefined ? nonce < base : isUsed(slot)
}

function isConfirmedAt(slots: ReadonlyNonceMap<Slot>, nonce: number, base: number): boolean {
  const slot = slots.get(nonce)
  return isUsedAt(slots, nonce, base) || (slot?.state === 'live' && slot.preconfirmed !== undefined)
}

/**
 * The end of the run of used nonces without slots that contains this nonce. The run is crossed in one step,
 * however long it is.
 */
function endOfRun(slots: ReadonlyNonceMap<Slot>, nonce: number, base: number): number {
  let end = base
  for (const known of slots.keys()) if (known > nonce && known < end) end = known
  return end
}

/** The nonce from which on nothing is bound. */
function endOfBound(slots: ReadonlyNonceMap<Slot>, base: number): number {
  let end = base
  for (const slot of slots.values()) if (isBound(slot)) end = Math.max(end, slot.nonce + 1)
  return end
}

/**
 * Nonces that another sender may have used according to a count, with no other information: one range, never
 * a slot for each nonce. The count is a number from a node, so memory and time must not grow in proportion to
 * it.
 */
type Hypothesis = {
  /** Unused nonces without a slot below this one belong to the range. */
  to: number
  /** The slot of a nonce in the range until its first event: row 8. */
  slotAt(nonce: number): Outside | undefined
}

function createHypothesis(): Hypothesis {
  return {
    to: 0,
    slotAt(nonce) {
      if (nonce >= this.to) return undefined
      return { state: 'outside', nonce, attempts: NOTHING, origin: 'seeded' }
    },
  }
}
