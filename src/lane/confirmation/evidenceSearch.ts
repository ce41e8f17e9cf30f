import type { Book } from '../../ledger/book.js'
import type { Clock } from '../../platform/clock.js'

type EvidenceSearchParts = {
  readonly clock: Pick<Clock, 'now'>
  readonly book: Pick<Book, 'unproven'>
}

/** The state of the search for the use of a nonce: the start block, and the time of the next attempt. */
export type EvidenceSearch = {
  /** The count at this head was not above the floor, so later searches start there. */
  noteUnused(head: number): void
  /** The block of this number left the chain, so readings at it and above it are no longer valid. */
  left(number: number): void
  /** The block number at which a search starts. */
  from(head: number): number
  isDue(nonce: number, head: number): boolean
  /** Begins or continues the search for the use of a nonce. Returns the number of earlier attempts. */
  begin(nonce: number, head: number): number
  /** The attempt was not conclusive; `why` is its reason. */
  pause(head: number, why: string | undefined): void
  /** No endpoint has shown the use for this time, counted from the first call. */
  isExhausted(patienceMs: number): boolean
  end(): void
  readonly isOpen: boolean
  /** A search is open, and no pause between two attempts is running. */
  readonly isReady: boolean
  /** The reason why the last attempt was not conclusive. */
  readonly why: string | undefined
}

/**
 * Limits of the pause between two attempts for the same nonce. An attempt follows a new block, or the pause
 * if no block comes.
 */
const LOOK_MS = 500
const LOOK_MS_MAX = 10_000
/**
 * Number of blocks below the head in which the search starts without an earlier reading. Bodies show whether
 * the account had passed the nonce there.
 */
const LOOK_BACK_BLOCKS = 31
/**
 * A new block divides the pause by this number, so that a chain of many blocks a second does not cause one
 * attempt per block.
 */
const NEW_BLOCK_PART = 8

/** The nonce whose use is being searched for, and the results so far. */
type Search = {
  readonly nonce: number
  attempts: number
  notBeforeMs: number
  head: number
  /** The time since which no endpoint has shown the use of the nonce. */
  fruitlessSinceMs: number | undefined
  why: string | undefined
}

export function createEvidenceSearch({ clock, book }: EvidenceSearchParts): EvidenceSearch {
  // The newest head at which the count was not above the floor. The search for evidence starts there.
  let unusedAt: number | undefined
  let search: Search | undefined

  /**
   * If the patience for the nonce right below has ended, this nonce does not wait for the same time again.
   */
  function beginAt(nonce: number, head: number, below: Search | undefined): Search {
    const isExhausted = below !== undefined && book.unproven.has(below.nonce)
    const fruitlessSinceMs = isExhausted ? below.fruitlessSinceMs : undefined
    return { nonce, attempts: 0, notBeforeMs: 0, head, fruitlessSinceMs, why: undefined }
  }

  return {
    noteUnused(head) {
      unusedAt = Math.max(unusedAt ?? 0, head)
    },
    left(number) {
      if (unusedAt !== undefined && unusedAt >= number) unusedAt = Math.max(0, number - 1)
    },
    from(head) {
      // A reading above the head belongs to a chain that was cut back, or that was never as long.
      return unusedAt !== undefined && unusedAt <= head ? unusedAt : Math.max(0, head - LOOK_BACK_BLOCKS)
    },
    isDue(nonce, head) {
      if (search?.nonce !== nonce) return true
      const nowMs = clock.now()
      const pauseMs = pauseOf(search.attempts)
      const atNewBlockMs = search.notBeforeMs - pauseMs + Math.max(LOOK_MS, pauseMs / NEW_BLOCK_PART)
      return nowMs >= search.notBeforeMs || (head !== search.head && nowMs >= atNewBlockMs)
    },
    begin(nonce, head) {
      if (search?.nonce !== nonce)
        search = beginAt(nonce, head, search?.nonce === nonce - 1 ? search : undefined)
      return search.attempts
    },
    pause(head, why) {
      if (search === undefined) return
      search.attempts++
      search.head = head
      search.why = why
      search.notBeforeMs = clock.now() + pauseOf(search.attempts)
    },
    isExhausted(patienceMs) {
      if (search === undefined) return false
      search.fruitlessSinceMs ??= clock.now()
      return clock.now() - search.fruitlessSinceMs >= patienceMs
    },
    end() {
      search = undefined
    },
    get isOpen() {
      return search !== undefined
    },
    get isReady() {
      return search !== undefined && clock.now() >= search.notBeforeMs
    },
    get why() {
      return search?.why
    },
  }
}

const pauseOf = (attempts: number): number => Math.min(LOOK_MS_MAX, LOOK_MS * 2 ** Math.min(attempts, 8))
