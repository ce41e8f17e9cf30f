import { createHeap } from '../../ledger/heap.js'

/**
 * Who takes a nonce next: the highest priority first, and the first to come among equals. An entry that may not go yet
 * keeps its place: later entries of its priority wait behind it, those of another priority do not.
 */
export type Line<T extends LineEntry> = {
  /** Takes its place. One that is in the line already stays there, and `mayGo` is what is said now. @default true */
  add(entry: T, mayGo?: boolean): void
  /** Takes it out, wherever it stands. */
  remove(entry: T): void
  /** The first that may go. */
  peek(): T | undefined
  shift(): T | undefined
  /** Whether another entry stands before it, or would where it is not in the line. */
  isBehind(entry: T): boolean
  /** What it waits behind: the first of its priority, or the first of all that may go. */
  ahead(entry: T): T | undefined
  /** Those that may not go yet included. */
  readonly size: number
  /** Those that may go as soon as it is their turn. */
  [Symbol.iterator](): Iterator<T>
}

export type LineEntry = { readonly priority: number; readonly sequence: number }

/** With fewer entries it is not worth making it anew. */
const SMALL = 64

/** Ranks that are kept although they are empty: an idle lane makes none anew for each transaction. */
const RANKS_KEPT = 8

/** The entries of one priority. Those that left are skipped when they surface. */
type Rank<T> = {
  /** Each with whether it may go. */
  readonly members: Map<T, boolean>
  put(entry: T, mayGo: boolean): void
  remove(entry: T): void
  first(): T | undefined
}

export function createLine<T extends LineEntry>(): Line<T> {
  const ranks = new Map<number, Rank<T>>()
  // The first of each rank where it may go, beside some that are so no more.
  let next = createHeap<T>(before)
  let size = 0

  function rankOf(priority: number): Rank<T> {
    let rank = ranks.get(priority)
    if (rank === undefined) {
      rank = createRank<T>()
      ranks.set(priority, rank)
    }
    return rank
  }

  function mayBeNext(entry: T): boolean {
    const rank = ranks.get(entry.priority)
    return rank !== undefined && rank.members.get(entry) === true && rank.first() === entry
  }

  function offer(entry: T | undefined): void {
    if (entry === undefined || !mayBeNext(entry)) return
    if (next.size > SMALL + 2 * ranks.size) makeAnew()
    else next.push(entry)
  }

  function makeAnew(): void {
    next = createHeap<T>(before)
    for (const rank of ranks.values()) {
      const first = rank.first()
      if (first !== undefined && rank.members.get(first)) next.push(first)
    }
  }

  function peek(): T | undefined {
    for (let top = next.peek(); top !== undefined; top = next.peek()) {
      if (mayBeNext(top)) return top
      next.pop()
    }
    return undefined
  }

  function remove(entry: T): void {
    const rank = ranks.get(entry.priority)
    if (rank === undefined || !rank.members.has(entry)) return
    size--
    if (rank.members.size === 1 && ranks.size > RANKS_KEPT) return void ranks.delete(entry.priority)
    const wasFirst = rank.first() === entry
    rank.remove(entry)
    if (wasFirst) offer(rank.first())
  }

  return {
    add(entry, mayGo = true) {
      const rank = rankOf(entry.priority)
      const was = rank.members.get(entry)
      if (was === mayGo) return
      if (was === undefined) size++
      rank.put(entry, mayGo)
      if (mayGo) offer(entry)
    },
    remove,
    peek,
    shift() {
      const top = peek()
      if (top === undefined) return undefined
      next.pop()
      remove(top)
      return top
    },
    ahead(entry) {
      const first = ranks.get(entry.priority)?.first()
      if (first !== undefined && before(first, entry)) return first
      const top = peek()
      return top !== undefined && before(top, entry) ? top : undefined
    },
    isBehind(entry) {
      const first = ranks.get(entry.priority)?.first()
      if (first !== undefined && before(first, entry)) return true
      for (const [priority, { members }] of ranks)
        if (priority > entry.priority && members.size > 0) return true
      return false
    },
    get size() {
      return size
    },
    *[Symbol.iterator]() {
      for (const { members } of ranks.values()) for (const [entry, mayGo] of members) if (mayGo) yield entry
    },
  }
}

function createRank<T extends LineEntry>(): Rank<T> {
  // Nearly all come in the order in which they go, from `at` on: only what does not pays for a heap's comparisons.
  let inOrder: T[] = []
  let at = 0
  let others = createHeap<T>(before)
  const members = new Map<T, boolean>()

  function skip(): void {
    at++
    if (at === inOrder.length || (at > SMALL && at * 2 > inOrder.length)) {
      inOrder = inOrder.slice(at)
      at = 0
    }
  }

  function firstInOrder(): T | undefined {
    for (let top = inOrder[at]; top !== undefined; top = inOrder[at]) {
      if (members.has(top)) return top
      skip()
    }
    return undefined
  }

  function firstOfOthers(): T | undefined {
    for (let top = others.peek(); top !== undefined; top = others.peek()) {
      if (members.has(top)) return top
      others.pop()
    }
    return undefined
  }

  function makeAnew(): void {
    inOrder = [...members.keys()].sort((a, b) => (before(a, b) ? -1 : 1))
    at = 0
    others = createHeap<T>(before)
  }

  return {
    members,
    put(entry, mayGo) {
      const isNew = !members.has(entry)
      members.set(entry, mayGo)
      if (!isNew) return
      const last = inOrder[inOrder.length - 1]
      if (last === undefined || before(last, entry)) inOrder.push(entry)
      else others.push(entry)
    },
    remove(entry) {
      members.delete(entry)
      const held = inOrder.length - at + others.size
      if (held > SMALL && members.size * 2 < held) makeAnew()
    },
    first() {
      const a = firstInOrder()
      const b = firstOfOthers()
      return a === undefined || (b !== undefined && before(b, a)) ? b : a
    },
  }
}

function before(a: LineEntry, b: LineEntry): boolean {
  return a.priority === b.priority ? a.sequence < b.sequence : a.priority > b.priority
}
