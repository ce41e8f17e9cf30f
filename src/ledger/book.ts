import type { Hash } from 'viem'
import type { SlotEvent } from './event.js'
import { createMinHeap } from './heap.js'
import { type BlockRef, isBound, isUsed, type Slot } from './slot.js'
import { type Transition, transition } from './transition.js'

/**
 * The slots of one lane, and everything that is derived from them. Mutable for speed, otherwise as pure as the
 * table that it applies: it does no I/O and knows no time. Each operation costs the same however many slots there
 * are.
 */
export type Book = {
  /** Takes one event through the table and keeps what comes of it. */
  apply(nonce: number, event: SlotEvent): Transition
  get(nonce: number): Slot | undefined
  /** The nonce that an attempt was journaled at, by its hash. */
  nonceOf(hash: Hash): number | undefined
  /** Puts back a slot read from the store. */
  restore(slot: Slot): void
  /** Everything below `nonce` is used, by whom is of no concern: at seed, and when an operator lifts a jump. */
  raise(nonce: number): void
  /** The node's `pending` count, where it counts the mempool: all below it is covered. May come down again. */
  counted(count: number): void
  /** The lowest nonce not used in the latest sealed block. */
  readonly floor: number
  /** The next nonce to hand out when there is no hole. */
  readonly cursor: number
  /** All below is covered: used, counted, or preconfirmed without a break. */
  readonly coveredTo: number
  /** The lowest hole below the cursor, if there is one. */
  lowestHole(): number | undefined
  /** The lowest nonce that is reserved and not yet journaled: nothing above it may be broadcast (P6). */
  lowestReserved(): number | undefined
  /** Unfinished slots from the first nonce not covered upwards, `limit` at the most. */
  uncovered(limit: number): Slot[]
  /** Nonces that a sealed block used, by that block's hash. */
  usedIn(block: Hash): readonly number[]
  /** Nonces whose use waits for its verdict in a block up to `number`; and those that wait for the horizon. */
  dueForVerdict(number: number): readonly number[]
  dueForHorizon(number: number): readonly number[]
  /** Nonces seen in the pending block of a number up to `number`, and not sealed since. */
  preconfirmedUpTo(number: number): readonly number[]
  /** Slots that changed since the last call, to be journaled. */
  takeChanged(): readonly Slot[]
  readonly slots: ReadonlyMap<number, Slot>
  /** Slots that are not final: what the lane still answers for. */
  readonly unfinished: number
}

export function createBook(seed: { floor: number }): Book {
  const slots = new Map<number, Slot>()
  const hashes = new Map<Hash, number>()
  const changed = new Set<number>()
  const holes = createMinHeap()
  const reserved = createMinHeap()
  const used = createBlockIndex()
  const settled = createBlockIndex()
  const preconfirmed = createNumberIndex()
  let floor = seed.floor
  let cursor = seed.floor
  let counted = seed.floor
  let contiguous = seed.floor
  let unfinished = 0

  function keep(nonce: number, before: Slot | undefined, after: Slot): void {
    for (const attempt of after.attempts) hashes.set(attempt.hash, nonce)
    index(nonce, before, after)
    slots.set(nonce, after)
    moveCursor(nonce, after)
    moveFloor(nonce, after)
    moveContiguous(nonce, after)
    if (after.state === 'final') forget(nonce, before)
    unfinished += Number(isOpen(after)) - Number(isOpen(before))
  }

  /** Keeps the side indexes in step: each holds a nonce exactly while its slot is in the state it stands for. */
  function index(nonce: number, before: Slot | undefined, after: Slot): void {
    if (before?.state === 'used' && before.at) (before.settled ? settled : used).remove(before.at, nonce)
    if (before?.state === 'live' && before.preconfirmedIn !== undefined) preconfirmed.remove(before.preconfirmedIn, nonce)
    if (after.state === 'used' && after.at) (after.settled ? settled : used).add(after.at, nonce)
    if (after.state === 'live' && after.preconfirmedIn !== undefined) preconfirmed.add(after.preconfirmedIn, nonce)
    if (after.state === 'hole') holes.push(nonce)
    if (after.state === 'reserved') reserved.push(nonce)
  }

  function moveCursor(nonce: number, after: Slot): void {
    if (isBound(after)) {
      // New nonces that were skipped (handed out above, or used by others) are holes until something is known.
      for (let skipped = cursor; skipped < nonce; skipped++) {
        if (!slots.has(skipped)) slots.set(skipped, { state: 'hole', nonce: skipped, attempts: [] })
        holes.push(skipped)
      }
      cursor = Math.max(cursor, nonce + 1)
      return
    }
    // Row 3: what is bound to nothing at the top is new again; its attempts stay in the map.
    while (cursor > floor && !isBound(slots.get(cursor - 1))) {
      cursor--
      if (slots.get(cursor)?.attempts.length === 0) slots.delete(cursor)
    }
  }

  function moveFloor(nonce: number, after: Slot): void {
    if (!isUsed(after)) floor = Math.min(floor, nonce)
    while (isUsed(slots.get(floor))) floor++
    cursor = Math.max(cursor, floor)
  }

  function moveContiguous(nonce: number, after: Slot): void {
    if (!isCoveredHere(after)) contiguous = Math.min(contiguous, nonce)
    contiguous = Math.max(contiguous, floor)
    while (isCoveredHere(slots.get(contiguous))) contiguous++
  }

  function forget(nonce: number, before: Slot | undefined): void {
    for (const attempt of before?.attempts ?? []) hashes.delete(attempt.hash)
    // Below the floor a nonce without a slot is used: nothing is lost with the slot.
    if (nonce < floor) slots.delete(nonce)
  }

  function lowest(heap: typeof holes, state: Slot['state']): number | undefined {
    for (let nonce = heap.peek(); nonce !== undefined; nonce = heap.peek()) {
      if (nonce < cursor && slots.get(nonce)?.state === state) return nonce
      heap.pop()
    }
    return undefined
  }

  const coveredTo = (): number => Math.max(floor, contiguous, Math.min(counted, cursor))

  return {
    apply(nonce, event) {
      const before = slots.get(nonce)
      const result = transition(nonce, before, event)
      if (result.slot === before || (before === undefined && result.row === 0)) return result
      keep(nonce, before, result.slot)
      changed.add(nonce)
      return result
    },
    restore(slot) {
      keep(slot.nonce, slots.get(slot.nonce), slot)
    },
    raise(nonce) {
      for (const [known, slot] of slots) if (known < nonce && slot.state === 'hole') slots.delete(known)
      floor = Math.max(floor, nonce)
      while (isUsed(slots.get(floor))) floor++
      cursor = Math.max(cursor, floor)
      contiguous = Math.max(contiguous, floor)
    },
    counted(count) {
      counted = count
    },
    get: (nonce) => slots.get(nonce),
    nonceOf: (hash) => hashes.get(hash),
    get floor() {
      return floor
    },
    get cursor() {
      return cursor
    },
    get coveredTo() {
      return coveredTo()
    },
    lowestHole: () => lowest(holes, 'hole'),
    lowestReserved: () => lowest(reserved, 'reserved'),
    uncovered(limit) {
      const found: Slot[] = []
      for (let nonce = coveredTo(); nonce < cursor && found.length < limit; nonce++) {
        const slot = slots.get(nonce)
        if (slot !== undefined && (slot.state === 'live' || slot.state === 'outside')) found.push(slot)
      }
      return found
    },
    usedIn: (block) => [...used.of(block), ...settled.of(block)],
    dueForVerdict: (number) => used.upTo(number),
    dueForHorizon: (number) => settled.upTo(number),
    preconfirmedUpTo: (number) => preconfirmed.upTo(number),
    takeChanged() {
      const taken: Slot[] = []
      for (const nonce of changed) {
        const slot = slots.get(nonce)
        taken.push(slot ?? { state: 'final', nonce, attempts: [] })
      }
      changed.clear()
      return taken
    },
    slots,
    get unfinished() {
      return unfinished
    },
  }
}

function isOpen(slot: Slot | undefined): boolean {
  return slot !== undefined && slot.state !== 'final' && slot.state !== 'hole'
}

function isCoveredHere(slot: Slot | undefined): boolean {
  return isUsed(slot) || (slot?.state === 'live' && slot.preconfirmedIn !== undefined)
}

/** Nonces by a block number, found in order of the number. */
function createNumberIndex() {
  const byNumber = new Map<number, Set<number>>()
  return {
    add(number: number, nonce: number) {
      const found = byNumber.get(number)
      if (found) found.add(nonce)
      else byNumber.set(number, new Set([nonce]))
    },
    remove(number: number, nonce: number) {
      const found = byNumber.get(number)
      found?.delete(nonce)
      if (found?.size === 0) byNumber.delete(number)
    },
    /** In nonce order: verdicts are told in the order in which the nonces were used. */
    upTo(limit: number): number[] {
      const found: number[] = []
      for (const [number, nonces] of byNumber) if (number <= limit) found.push(...nonces)
      return found.sort((a, b) => a - b)
    },
  }
}

/** Nonces by the block that used them: by hash for reorgs, by number for depth. */
function createBlockIndex() {
  const byNumber = createNumberIndex()
  const byHash = new Map<Hash, Set<number>>()
  return {
    add(block: BlockRef, nonce: number) {
      byNumber.add(block.number, nonce)
      const found = byHash.get(block.hash)
      if (found) found.add(nonce)
      else byHash.set(block.hash, new Set([nonce]))
    },
    remove(block: BlockRef, nonce: number) {
      byNumber.remove(block.number, nonce)
      const found = byHash.get(block.hash)
      found?.delete(nonce)
      if (found?.size === 0) byHash.delete(block.hash)
    },
    of: (hash: Hash): readonly number[] => [...(byHash.get(hash) ?? [])].sort((a, b) => a - b),
    upTo: byNumber.upTo,
  }
}
