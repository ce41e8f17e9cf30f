import type { Hash } from 'viem'
import type { SlotEvent, Transition } from './event.js'
import { createMinHeap } from './heap.js'
import { NonceMap, type ReadonlyNonceMap } from './nonceMap.js'
import { createNonceRange, lowestIn } from './nonceRange.js'
import { awaitsCommit, isOpen, isSameRecord, isUnsent, type Slot } from './slot.js'
import { createSlotIndexes } from './slotIndexes.js'
import { slotWith } from './slotWith.js'
import { transition } from './transition.js'

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
  previewCommit(nonce: number, event: Journaled): Slot
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
  /** The nonce was pruned with its record left in the store. From now on the record is of no use either. */
  pruneRecord(nonce: number): void
  readonly slots: ReadonlyNonceMap<Slot>
  /**
   * The number of slots that are not final, including the hypothesis: the nonces for which the lane is still
   * responsible. It is above 0 while any is left.
   */
  readonly unfinished: number
}

export function createBook(seed: { floor: number }): Book {
  const slots = new NonceMap<Slot>()
  const hashes = new Map<Hash, number>()
  const uncommitted = createMinHeap()
  const unsent = createMinHeap()
  const range = createNonceRange(slots, seed.floor)
  const changes = createChanges(slots, () => range.base)
  const indexes = createSlotIndexes(slots)
  const previews = createPreviews()
  let counted = seed.floor
  let unfinished = 0
  let finalTo = 0

  function keep(nonce: number, after: Slot): void {
    const before = slots.get(nonce)
    // Attempts are only ever added, so an equal length means that no hash is missing.
    if (after.attempts.length !== before?.attempts.length)
      for (const attempt of after.attempts) hashes.set(attempt.hash, nonce)
    indexes.move(nonce, before, after)
    if (awaitsCommit(after) && !awaitsCommit(before)) uncommitted.push(nonce)
    slots.set(nonce, after)
    range.placed(nonce, after)
    unfinished += Number(isOpen(after)) - Number(isOpen(before))
    if (after.state === 'final') for (const attempt of before?.attempts ?? []) hashes.delete(attempt.hash)
  }

  const coveredTo = (): number => Math.max(range.confirmedTo, Math.min(counted, range.cursor))

  return {
    apply(nonce, event) {
      // A nonce that was pruned, or used before this process started, stays used: a late observation does not
      // bring it back.
      const before = range.slotAt(nonce) ?? (nonce < range.base ? absentSlot(nonce, range.base) : undefined)
      const result = previews.take(nonce, event) ?? transition(nonce, before, event)
      if (result.slot === before || (before === undefined && result.row === 0)) return result
      keep(nonce, result.slot)
      // A count that includes this nonce now counts another transaction, or is too high.
      if (event.type === 'reserve') counted = Math.min(counted, nonce)
      if (isUnsent(result.slot) && !isUnsent(before)) unsent.push(nonce)
      if (result.slot.state === 'final') finalTo = Math.max(finalTo, nonce + 1)
      const isStored = event.type === 'journaled' && event.stored === true
      if (event.type === 'horizon' && event.record !== undefined) changes.keep(nonce, before, event.record)
      else if (!isStored && !isSameRecord(before, result.slot)) changes.add(nonce)
      return result
    },
    previewCommit(nonce, event) {
      const result = transition(nonce, slots.get(nonce), event)
      previews.keep(nonce, event, result)
      return result.slot
    },
    restore(slot) {
      keep(slot.nonce, 'committing' in slot ? slotWith(slot, { committing: 0 }) : slot)
    },
    raise(nonce) {
      for (const [known, slot] of slots) {
        if (known >= nonce || slot.state !== 'hole') continue
        slots.delete(known)
        changes.add(known)
        for (const attempt of slot.attempts) hashes.delete(attempt.hash)
      }
      range.raise(nonce)
    },
    lower(nonce) {
      counted = Math.min(counted, nonce)
      finalTo = Math.min(finalTo, nonce)
      range.lower(nonce)
    },
    suppose: range.suppose,
    counted(count) {
      counted = Math.min(count, lowestIn(unsent, slots, range.cursor, isUnsent) ?? count)
    },
    get: range.slotAt,
    nonceOf: (hash) => hashes.get(hash),
    get base() {
      return range.base
    },
    get supposedTo() {
      return range.supposedTo
    },
    get finalTo() {
      return finalTo
    },
    unproven: indexes.unproven,
    get floor() {
      return range.floor
    },
    get cursor() {
      return range.cursor
    },
    get coveredTo() {
      return coveredTo()
    },
    get confirmedTo() {
      return range.confirmedTo
    },
    lowestHole: range.lowestHole,
    lowestUncommitted: () => lowestIn(uncommitted, slots, range.cursor, awaitsCommit),
    uncovered: (limit) => range.unfinishedFrom(coveredTo(), limit),
    usedIn: indexes.usedIn,
    dueForVerdict: indexes.dueForVerdict,
    dueForHorizon: (number) => indexes.dueForHorizon(number, finalTo),
    preconfirmedUpTo: indexes.preconfirmedUpTo,
    takeChanged: changes.take,
    pruneRecord: changes.prune,
    slots,
    get unfinished() {
      // The hypothesis never reaches above the cursor, and the floor is never above the base.
      return unfinished + Math.max(0, range.supposedTo - range.base)
    },
  }
}

/** The slots whose records are not in the store yet. */
type ChangedRecords = {
  add(nonce: number): void
  /** The slot was pruned, and the store has to keep its record. */
  keep(nonce: number, slot: Slot | undefined, how: 'unchanged' | 'compact'): void
  /** The store does not have to keep the record any more. */
  prune(nonce: number): void
  take(): readonly Slot[]
}

function createChanges(slots: ReadonlyNonceMap<Slot>, base: () => number): ChangedRecords {
  const changed = new NonceMap<true>()
  const kept = new NonceMap<Slot>()
  return {
    add: (nonce) => void changed.set(nonce, true),
    keep(nonce, slot, how) {
      // An earlier change may not be written yet.
      if (slot?.state !== 'used' || (how === 'unchanged' && !changed.has(nonce))) return
      kept.set(nonce, how === 'compact' ? slotWith(slot, { attempts: [] }) : slot)
      changed.set(nonce, true)
    },
    prune(nonce) {
      kept.delete(nonce)
      changed.set(nonce, true)
    },
    take() {
      const taken = [...changed.keys()].map(
        (nonce): Slot => kept.get(nonce) ?? slots.get(nonce) ?? absentSlot(nonce, base()),
      )
      changed.clear()
      kept.clear()
      return taken
    },
  }
}

/** The record of a nonce without a slot. */
function absentSlot(nonce: number, base: number): Slot {
  return { state: nonce < base ? 'final' : 'hole', nonce, attempts: [] }
}

type Journaled = Extract<SlotEvent, { type: 'journaled' }>

type Preview = { readonly event: Journaled; readonly result: Transition }

/** Transitions of `journaled` events that were computed before the commit, one per nonce. */
type Previews = {
  keep(nonce: number, event: Journaled, result: Transition): void
  /**
   * The preview of this very event. The table is a pure function: the same slot and the same bytes give the
   * same result. Every other event for the nonce discards the preview.
   */
  take(nonce: number, event: SlotEvent): Transition | undefined
}

function createPreviews(): Previews {
  const previews = new NonceMap<Preview>()
  return {
    keep(nonce, event, result) {
      previews.set(nonce, { event, result })
    },
    take(nonce, event) {
      const known = previews.get(nonce)
      if (known === undefined) return undefined
      previews.delete(nonce)
      if (event.type !== 'journaled') return undefined
      const { attempt, token } = known.event
      return attempt === event.attempt && token === event.token ? known.result : undefined
    },
  }
}
