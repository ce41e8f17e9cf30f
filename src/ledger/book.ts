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
 * The slots of one lane, and every value that is derived from them. The book is mutable for speed, but
 * otherwise as pure as the table that it applies: it does no I/O and reads no clock. The cost of an operation
 * does not depend on the number of slots.
 */
export type Book = {
  /**
   * Passes one event through the table and stores the resulting slot.
   *
   * @throws Error if a nonce is reserved, handed out or replaced in a state that does not allow it: a bug of
   * this library.
   */
  apply(nonce: number, event: SlotEvent): Transition
  /**
   * The slot that `journaled` would produce from the present one. The store receives it before the commit is
   * confirmed. `apply` returns this very slot, unless another event changes the nonce in between.
   */
  foresee(nonce: number, event: Journaled): Slot
  get(nonce: number): Slot | undefined
  /** The nonce at which an attempt was journaled, looked up by the attempt's hash. */
  nonceOf(hash: Hash): number | undefined
  /** Restores a slot that was read from the store. Slots may be restored in any order. */
  restore(slot: Slot): void
  /**
   * Declares every nonce below `nonce` used, no matter by which transaction. Called at seed, and when an
   * operator lifts a jump. Holes below `nonce` are dropped. A bound slot below it keeps its state and holds
   * the floor until evidence or `passed` arrives for it.
   */
  raise(nonce: number): void
  /**
   * The opposite of `raise`: a sealed block shows that no nonce from `nonce` upwards was used. Nonces that
   * were believed used and have no slot join the hypothesis, because a reorg removed the transactions that
   * were mined there before this process started.
   */
  lower(nonce: number): void
  /**
   * Marks unused nonces without a slot below `to` as possibly used by another sender (row 8), however many
   * there are. If `to` is lower than before, the nonces in between are free again: holes if a nonce above is
   * bound, otherwise new (row 3). At most `HOLES_MAX` holes may result; if there would be more, the call
   * changes nothing.
   *
   * @returns false if the call changed nothing because of that limit
   */
  suppose(to: number): boolean
  /**
   * Takes the chain's count at seed, or the node's `pending` count if the node counts its mempool. All nonces
   * below it are covered, up to the first nonce that is reserved here and not sent yet. A nonce that is
   * reserved later is not covered by it. The count may decrease.
   */
  counted(count: number): void
  /**
   * All nonces below were used when this process started, or are final: a nonce below without a slot is
   * believed to be used.
   */
  readonly base: number
  /** The end of the hypothesis. It is not above `base` if the hypothesis is empty. */
  readonly supposedTo: number
  /** All nonces below have been final: this process saw them in a block beyond the horizon. */
  readonly finalTo: number
  /**
   * Nonces that are believed used although no block shows it: because of a count alone (row 26), or on an
   * operator's word.
   */
  readonly unproven: ReadonlySet<number>
  /** The lowest nonce not used in the latest sealed block. */
  readonly floor: number
  /** The next nonce to assign if there is no hole. */
  readonly cursor: number
  /** All nonces below are covered: confirmed, or counted. */
  readonly coveredTo: number
  /** All nonces below are confirmed without a gap: used, or preconfirmed. */
  readonly confirmedTo: number
  /** The lowest hole below the cursor, if there is one. */
  lowestHole(): number | undefined
  /** The lowest nonce whose first bytes are not in the store yet: no nonce above it may be broadcast (P6). */
  lowestUncommitted(): number | undefined
  /** Unfinished slots from the first uncovered nonce upwards, at most `limit` of them. */
  uncovered(limit: number): Slot[]
  /** Nonces that the sealed block with this hash used. */
  usedIn(block: Hash): readonly number[]
  /** Nonces that were used in a block up to `number` and await their verdict. */
  dueForVerdict(number: number): readonly number[]
  /**
   * Settled nonces that were used in a block up to `number` and await the horizon. An operator's word names
   * no block. A nonce settled by it becomes due once a higher nonce is final, since nonces are used in order.
   */
  dueForHorizon(number: number): readonly number[]
  /** Nonces seen in a pending block up to `number`, and not sealed since. */
  preconfirmedUpTo(number: number): readonly number[]
  /**
   * The slots that changed since the last call and are not in the store yet, to be journaled. A nonce with no
   * record left to keep is returned as `final`, or as a hole without attempts.
   */
  takeChanged(): readonly Slot[]
  readonly slots: ReadonlyNonceMap<Slot>
  /**
   * The number of slots that are not final, including the hypothesis: the nonces for which the lane is still
   * responsible. It is above 0 while any is left.
   */
  readonly unfinished: number
}

type Foreseen = { readonly event: Journaled; readonly result: Transition }

/**
 * A lane can skip at most this many nonces at once by its own sends. A larger jump comes from an invented
 * number of a node.
 */
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
  // A nonce below `base` without a slot is used: it was pruned, or used before this process started. The
  // floor itself may be lower if a reorg gave a nonce back.
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
    // Attempts are only ever added, so an equal length means that no hash is missing.
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

  /**
   * Keeps the side indexes in step: each contains a nonce exactly while its slot is in the state that the
   * index stands for.
   */
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

  /**
   * New nonces that were skipped (handed out above, or used by other senders) are holes until more is known.
   */
  function raiseCursor(nonce: number): void {
    // This library never skips that many nonces. The cursor was too low because of an invented number of a
    // node.
    if (nonce - cursor > HOLES_MAX) suppose(nonce)
    for (let skipped = cursor; skipped < nonce; skipped++) addHole(skipped)
    cursor = Math.max(cursor, nonce + 1)
  }

  function addHole(nonce: number): void {
    const slot = slots.get(nonce)
    if (slot === undefined) slots.set(nonce, { state: 'hole', nonce, attempts: [] })
    if (slot === undefined || slot.state === 'hole') holes.push(nonce)
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

  /**
   * The end of the run of used nonces without slots that contains this nonce. The run is crossed in one step,
   * however long it is.
   */
  function endOfRun(nonce: number): number {
    let end = base
    for (const known of slots.keys()) if (known > nonce && known < end) end = known
    return end
  }

  /** The next nonce, or the end of the run of used nonces that contains this one. */
  const after = (nonce: number): number => (slots.has(nonce) || nonce >= base ? nonce + 1 : endOfRun(nonce))

  /** The nonce from which on nothing is bound. */
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
      // Dropping a final slot loses nothing: a nonce below the base without a slot is used.
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
      // A nonce that was pruned, or used before this process started, stays used: a late observation does not
      // bring it back.
      const before = slotAt(nonce) ?? (nonce < base ? gone(nonce) : undefined)
      const result = asForeseen(nonce, event) ?? transition(nonce, before, event)
      if (result.slot === before || (before === undefined && result.row === 0)) return result
      keep(nonce, result.slot)
      // A count that includes this nonce now counts another transaction, or is too high.
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
      // The hypothesis never reaches above the cursor, and the floor is never above the base.
      return unfinished + Math.max(0, hypothesis.to - base)
    },
  }

  /**
   * The table is a pure function: the same slot and the same bytes give the same result. Every other event
   * for the nonce discards the preview.
   */
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
 * The lane waits for nothing at a nonce that an operator has settled, or at a nonce that is believed used and
 * concerns no caller. Such a slot only changes if that belief is refuted.
 */
function isOpen(slot: Slot | undefined): boolean {
  return (
    slot !== undefined && slot.state !== 'final' && slot.state !== 'hole' && !isSaid(slot) && !isNobodys(slot)
  )
}

/** Settled on an operator's word. */
const isSaid = (slot: Slot | undefined): boolean =>
  slot?.state === 'used' && slot.settled && slot.at === undefined

const isNobodys = (slot: Slot): boolean =>
  slot.state === 'used' && slot.by.kind === 'unproven' && !concernsCaller(slot)
