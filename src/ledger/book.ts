import type { Hash } from 'viem'
import { createBlockIndex, createNumberIndex } from './blockIndex.js'
import type { SlotEvent } from './event.js'
import { createMinHeap, type MinHeap } from './heap.js'
import { createHypothesis } from './hypothesis.js'
import { NonceMap, type ReadonlyNonceMap } from './nonceMap.js'
import { awaitsCommit, concernsCaller, isBound, isSameRecord, isUnsent, isUsed, type Slot } from './slot.js'
import { slotWith } from './slotWith.js'
import { type Transition, transition } from './transition.js'

type Journaled = Extract<SlotEvent, { type: 'journaled' }>

/**
 * The slots of one lane, and everything that is derived from them. Mutable for speed, otherwise as pure as the
 * table that it applies: it does no I/O and knows no time. Each operation costs the same however many slots there
 * are.
 */
export type Book = {
  /**
   * Takes one event through the table and keeps what comes of it.
   *
   * @throws Error when a nonce is reserved, handed out or replaced that cannot be: our own bug.
   */
  apply(nonce: number, event: SlotEvent): Transition
  /**
   * What journaling this would make of the slot as it is now: what a store is given before it is known that it takes it.
   * The same slot comes of it, where nothing else has happened meanwhile.
   */
  foresee(nonce: number, event: Journaled): Slot
  get(nonce: number): Slot | undefined
  /** The nonce that an attempt was journaled at, by its hash. */
  nonceOf(hash: Hash): number | undefined
  /** Puts back a slot read from the store. The order does not matter. */
  restore(slot: Slot): void
  /**
   * Everything below `nonce` is used, by whom is of no concern: at seed, and when an operator lifts a jump. Holes
   * below it are forgotten. What is bound below it keeps its state, and holds the floor, until evidence or `passed`
   * comes for it.
   */
  raise(nonce: number): void
  /**
   * The other way: a sealed block says that nothing from `nonce` upwards was used. What was believed to be, and has
   * no slot to show for it, becomes part of the hypothesis: a reorg took away what had been there before our time.
   */
  lower(nonce: number): void
  /**
   * Unused nonces without a slot below `to` may be somebody else's (row 8), however many they are. With a lower `to`
   * than before, those that are given back are free again: holes where something is bound above, else new (row 3).
   * Of the holes there may be `HOLES_MAX`: with more of them nothing changes.
   *
   * @returns false where nothing was changed for that reason
   */
  suppose(to: number): boolean
  /**
   * The chain's count at seed, and the node's `pending` count where it counts the mempool: all below it is covered, up to
   * the first nonce that is reserved here and of which nothing was sent yet. A nonce that is reserved later is not covered
   * by it. May come down again.
   */
  counted(count: number): void
  /** All below it was used when we came, or is final: a nonce there without a slot is believed to be used. */
  readonly base: number
  /** The end of the hypothesis; not above `base` where there is none. */
  readonly supposedTo: number
  /** All below it was final once: seen in a block beyond the horizon by this process. */
  readonly finalTo: number
  /** Nonces that are believed to be used, without a block that shows it: by a count alone (row 26), or an operator's word. */
  readonly unproven: ReadonlySet<number>
  /** The lowest nonce not used in the latest sealed block. */
  readonly floor: number
  /** The next nonce to hand out when there is no hole. */
  readonly cursor: number
  /** All below is covered: confirmed, or counted. */
  readonly coveredTo: number
  /** All below is confirmed: used, or preconfirmed, without a break. */
  readonly confirmedTo: number
  /** The lowest hole below the cursor, if there is one. */
  lowestHole(): number | undefined
  /** The lowest nonce whose first bytes are not in the store yet: nothing above it may be broadcast (P6). */
  lowestUncommitted(): number | undefined
  /** Unfinished slots from the first nonce not covered upwards, `limit` at the most. */
  uncovered(limit: number): Slot[]
  /** Nonces that a sealed block used, by that block's hash. */
  usedIn(block: Hash): readonly number[]
  /** Nonces whose use waits for its verdict in a block up to `number`. */
  dueForVerdict(number: number): readonly number[]
  /**
   * Settled nonces that wait for the horizon, in a block up to `number`. An operator's word names no block: a nonce that
   * was settled by it follows a higher one, since nonces are used in order.
   */
  dueForHorizon(number: number): readonly number[]
  /** Nonces seen in the pending block of a number up to `number`, and not sealed since. */
  preconfirmedUpTo(number: number): readonly number[]
  /**
   * What changed since the last call and is not in the store, to be journaled. A nonce of which nothing is left to keep comes as `final`, or
   * as a hole without attempts.
   */
  takeChanged(): readonly Slot[]
  readonly slots: ReadonlyNonceMap<Slot>
  /** Slots that are not final, and the hypothesis: what the lane still answers for. More than 0 while there are any. */
  readonly unfinished: number
}

type Foreseen = { readonly event: Journaled; readonly result: Transition }

/** So many nonces at once can have been skipped by what was sent from here; more are a number that a node made up. */
export const HOLES_MAX = 65_536

export function createBook(seed: { floor: number }): Book {
  const slots = new NonceMap<Slot>()
  const hashes = new Map<Hash, number>()
  const changed = new NonceMap<true>()
  const holes = createMinHeap()
  const uncommitted = createMinHeap()
  const unsent = createMinHeap()
  const used = createBlockIndex()
  const settled = createBlockIndex()
  const preconfirmed = createNumberIndex()
  const hypothesis = createHypothesis()
  // Below it a nonce without a slot is used: pruned, or from before our time. The floor itself may lie lower, where a
  // reorg gave a nonce back.
  let base = seed.floor
  let floor = seed.floor
  let cursor = seed.floor
  let counted = seed.floor
  let contiguous = seed.floor
  let unfinished = 0
  let finalTo = 0
  const unproven = new Set<number>()
  const foreseen = new NonceMap<Foreseen>()

  const slotAt = (nonce: number): Slot | undefined =>
    slots.get(nonce) ?? (nonce < base ? undefined : hypothesis.slotAt(nonce))

  function usedAt(nonce: number): boolean {
    const slot = slots.get(nonce)
    return slot === undefined ? nonce < base : isUsed(slot)
  }

  function coveredAt(nonce: number): boolean {
    const slot = slots.get(nonce)
    return usedAt(nonce) || (slot?.state === 'live' && slot.preconfirmed !== undefined)
  }

  function keep(nonce: number, after: Slot): void {
    const before = slots.get(nonce)
    // Attempts are only added to.
    if (after.attempts.length !== before?.attempts.length)
      for (const attempt of after.attempts) hashes.set(attempt.hash, nonce)
    index(nonce, before, after)
    slots.set(nonce, after)
    if (isBound(after)) raiseCursor(nonce)
    else lowerCursor()
    moveFloor(nonce)
    unfinished += Number(isOpen(after)) - Number(isOpen(before))
    if (after.state === 'final') for (const attempt of before?.attempts ?? []) hashes.delete(attempt.hash)
  }

  /** Keeps the side indexes in step: each holds a nonce exactly while its slot is in the state it stands for. */
  function index(nonce: number, before: Slot | undefined, after: Slot): void {
    unindex(nonce, before)
    if (after.state === 'used') {
      if (after.at === undefined) unproven.add(nonce)
      else if (after.settled) settled.add(after.at, nonce)
      else used.add(after.at, nonce)
    }
    if (after.state === 'live' && after.preconfirmed !== undefined)
      preconfirmed.add(after.preconfirmed.blockNumber, nonce)
    if (after.state === 'hole') holes.push(nonce)
    if (awaitsCommit(after) && !awaitsCommit(before)) uncommitted.push(nonce)
  }

  function unindex(nonce: number, before: Slot | undefined): void {
    if (before?.state === 'used') {
      if (before.at === undefined) unproven.delete(nonce)
      else if (before.settled) settled.remove(before.at, nonce)
      else used.remove(before.at, nonce)
    }
    if (before?.state === 'live' && before.preconfirmed !== undefined) {
      preconfirmed.remove(before.preconfirmed.blockNumber, nonce)
    }
  }

  /** New nonces that were skipped (handed out above, or used by others) are holes until something is known. */
  function raiseCursor(nonce: number): void {
    // Nobody here skips so many: what stands above was believed to be next because of a number that a node made up.
    if (nonce - cursor > HOLES_MAX) suppose(nonce)
    for (let skipped = cursor; skipped < nonce; skipped++) addHole(skipped)
    cursor = Math.max(cursor, nonce + 1)
  }

  function addHole(nonce: number): void {
    const slot = slots.get(nonce)
    if (slot === undefined) slots.set(nonce, { state: 'hole', nonce, attempts: [] })
    if (slot === undefined || slot.state === 'hole') holes.push(nonce)
  }

  /** Row 3: what is bound to nothing at the top is new again; its attempts stay in the map. */
  function lowerCursor(): void {
    for (let top = slots.get(cursor - 1); top?.state === 'hole'; top = slots.get(cursor - 1)) {
      cursor--
      base = Math.min(base, cursor)
      if (top.attempts.length === 0) slots.delete(cursor)
    }
    hypothesis.to = Math.min(hypothesis.to, cursor)
  }

  /** Where a run of used nonces without slots that this one is in ends: crossed in one step, however long it is. */
  function endOfRun(nonce: number): number {
    let end = base
    for (const known of slots.keys()) if (known > nonce && known < end) end = known
    return end
  }

  /** The nonce above, or the end of the run of used ones that this one is in. */
  const after = (nonce: number): number => (slots.has(nonce) || nonce >= base ? nonce + 1 : endOfRun(nonce))

  /** Nothing is bound there or above. */
  function boundTo(): number {
    let end = base
    for (const slot of slots.values()) if (isBound(slot)) end = Math.max(end, slot.nonce + 1)
    return end
  }

  function suppose(to: number): boolean {
    const end = hypothesis.to
    if (to >= end) {
      hypothesis.to = to
      cursor = Math.max(cursor, to)
      return true
    }
    const from = Math.max(to, base)
    const top = Math.max(from, boundTo())
    if (Math.min(end, top) - from > HOLES_MAX) return false
    hypothesis.to = to
    for (let nonce = from; nonce < Math.min(end, top); nonce++) addHole(nonce)
    for (const [nonce, { attempts }] of slots) if (nonce >= top && attempts.length === 0) slots.delete(nonce)
    cursor = top
    lowerCursor()
    return true
  }

  function moveFloor(nonce: number): void {
    if (!usedAt(nonce)) floor = Math.min(floor, nonce)
    while (usedAt(floor)) {
      const above = after(floor)
      // Nothing is lost with a final slot: below the base a nonce without one is used.
      if (slots.get(floor)?.state === 'final') slots.delete(floor)
      floor = above
      base = Math.max(base, floor)
    }
    if (nonce < floor && slots.get(nonce)?.state === 'final') slots.delete(nonce)
    cursor = Math.max(cursor, base)
    if (!coveredAt(nonce)) contiguous = Math.min(contiguous, nonce)
    contiguous = Math.max(contiguous, floor)
    while (coveredAt(contiguous)) contiguous = after(contiguous)
  }

  function lowest(heap: MinHeap, is: (slot: Slot | undefined) => boolean): number | undefined {
    for (let nonce = heap.peek(); nonce !== undefined; nonce = heap.peek()) {
      if (nonce < cursor && is(slots.get(nonce))) return nonce
      heap.pop()
    }
    return undefined
  }

  function saidBelow(nonce: number): number[] {
    return [...unproven].filter((said) => said < nonce && isSaid(slots.get(said)))
  }

  const coveredTo = (): number => Math.max(contiguous, Math.min(counted, cursor))

  return {
    apply(nonce, event) {
      // What was pruned, or was used before our time, stays so: an observation that comes late brings nothing back.
      const before = slotAt(nonce) ?? (nonce < base ? gone(nonce) : undefined)
      const result = asForeseen(nonce, event) ?? transition(nonce, before, event)
      if (result.slot === before || (before === undefined && result.row === 0)) return result
      keep(nonce, result.slot)
      // What counts it now counts another transaction, or too much.
      if (event.type === 'reserve') counted = Math.min(counted, nonce)
      if (isUnsent(result.slot) && !isUnsent(before)) unsent.push(nonce)
      if (result.slot.state === 'final') finalTo = Math.max(finalTo, nonce + 1)
      const isStored = event.type === 'journaled' && event.stored === true
      if (!isStored && !isSameRecord(before, result.slot)) changed.set(nonce, true)
      return result
    },
    foresee(nonce, event) {
      const result = transition(nonce, slots.get(nonce), event)
      foreseen.set(nonce, { event, result })
      return result.slot
    },
    restore(slot) {
      keep(slot.nonce, 'committing' in slot ? slotWith(slot, { committing: 0 }) : slot)
    },
    raise(nonce) {
      for (const [known, slot] of slots) {
        if (known >= nonce || slot.state !== 'hole') continue
        slots.delete(known)
        changed.set(known, true)
        for (const attempt of slot.attempts) hashes.delete(attempt.hash)
      }
      base = Math.max(base, nonce)
      moveFloor(floor)
    },
    lower(nonce) {
      counted = Math.min(counted, nonce)
      finalTo = Math.min(finalTo, nonce)
      if (nonce >= base) return
      suppose(Math.max(base, hypothesis.to))
      base = nonce
      floor = Math.min(floor, nonce)
      moveFloor(floor)
    },
    suppose,
    counted(count) {
      counted = Math.min(count, lowest(unsent, isUnsent) ?? count)
    },
    get: slotAt,
    nonceOf: (hash) => hashes.get(hash),
    get base() {
      return base
    },
    get supposedTo() {
      return hypothesis.to
    },
    get finalTo() {
      return finalTo
    },
    unproven,
    get floor() {
      return floor
    },
    get cursor() {
      return cursor
    },
    get coveredTo() {
      return coveredTo()
    },
    get confirmedTo() {
      return contiguous
    },
    lowestHole: () => lowest(holes, (slot) => slot?.state === 'hole'),
    lowestUncommitted: () => lowest(uncommitted, awaitsCommit),
    uncovered(limit) {
      const found: Slot[] = []
      for (let nonce = coveredTo(); nonce < cursor && found.length < limit; nonce = after(nonce)) {
        const slot = slotAt(nonce)
        if (slot !== undefined && (slot.state === 'live' || slot.state === 'outside')) found.push(slot)
      }
      return found
    },
    usedIn: (block) => [...used.of(block), ...settled.of(block)],
    dueForVerdict: (number) => used.upTo(number),
    dueForHorizon: (number) => [...settled.upTo(number), ...saidBelow(finalTo)],
    preconfirmedUpTo: (number) => preconfirmed.upTo(number),
    takeChanged() {
      const taken = [...changed.keys()].map((nonce): Slot => slots.get(nonce) ?? gone(nonce))
      changed.clear()
      return taken
    },
    slots,
    get unfinished() {
      // No hypothesis reaches above the cursor, nor the floor above the base.
      return unfinished + Math.max(0, hypothesis.to - base)
    },
  }

  /** The table is a function: for the same slot and the same bytes it says the same. Whatever else happens comes between. */
  function asForeseen(nonce: number, event: SlotEvent): Transition | undefined {
    const known = foreseen.get(nonce)
    if (known === undefined) return undefined
    foreseen.delete(nonce)
    if (event.type !== 'journaled') return undefined
    const { attempt, token } = known.event
    return attempt === event.attempt && token === event.token ? known.result : undefined
  }

  function gone(nonce: number): Slot {
    return { state: nonce < base ? 'final' : 'hole', nonce, attempts: [] }
  }
}

/**
 * The lane waits for nothing at a nonce that an operator has settled, or that is believed to be used and no caller's; only
 * what refutes that is heard of it.
 */
function isOpen(slot: Slot | undefined): boolean {
  return (
    slot !== undefined && slot.state !== 'final' && slot.state !== 'hole' && !isSaid(slot) && !isNobodys(slot)
  )
}

/** Settled on the word of an operator. */
const isSaid = (slot: Slot | undefined): boolean =>
  slot?.state === 'used' && slot.settled && slot.at === undefined

const isNobodys = (slot: Slot): boolean =>
  slot.state === 'used' && slot.by.kind === 'unproven' && !concernsCaller(slot)
