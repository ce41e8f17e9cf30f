import { Mutex } from 'async-mutex'
import type { Clock } from '../clock.js'
import { TxlaneError } from '../errors/base.js'
import { createDeadlines } from './deadlines.js'

/** The counts of a counter in contract storage, handed out one by one. */
export type Counter = {
  /** Reads the counter, once for all who ask. */
  ready(): Promise<void>
  /** The lowest ones free. All of them, or none. */
  reserve(amount: number): Promise<readonly bigint[]>
  /** A payload with this count may be public from now on: it is never free again until the counter passes it. */
  commit(count: bigint): void
  /** Nothing was made public: the count is free again. */
  release(count: bigint): void
  /** It was heard of: its time begins anew. */
  renew(count: bigint): void
  /** Reads the counter again and drops what it has passed. */
  resync(): Promise<void>
  onGap(listener: (count: bigint) => void): () => void
  readonly snapshot: CounterState | undefined
  stop(): void
}

export type CounterState = {
  /** What the counter stood at when it was last read. */
  readonly floor: bigint
  /** The next count when there is no hole. */
  readonly cursor: bigint
  /** Given back below the cursor, lowest first. */
  readonly holes: readonly bigint[]
  /** Handed out, and not passed by the counter when it was last read. */
  readonly inFlight: number
}

/**
 * A contract's storage tells how far its counter is, not what moved it there: no count has evidence of its own. So a
 * count that was committed stays taken until the counter passes it, and a gap can be told, not filled.
 */
export function createCounter(options: {
  read: () => Promise<bigint>
  clock: Clock
  ttlMs: number
  /** Counts handed out and not passed, at most. */
  outstandingMax: number
}): Counter {
  const { read, clock, ttlMs, outstandingMax } = options
  const mutex = new Mutex()
  const taken = new Set<bigint>()
  const listeners = new Set<(count: bigint) => void>()
  const deadlines = createDeadlines<bigint>({ clock, afterMs: ttlMs, due: expire })
  let holes: bigint[] = []
  let floor = 0n
  let cursor = 0n
  let seeding: Promise<void> | undefined
  let seeded = false

  function expire(count: bigint): void {
    if (!taken.has(count)) return
    for (const listener of listeners) listener(count)
    deadlines.set(count)
  }

  function ready(): Promise<void> {
    seeding ??= look().catch((error: unknown) => {
      // Not kept: the next call tries anew.
      seeding = undefined
      throw error
    })
    return seeding
  }

  async function look(): Promise<void> {
    const count = await read()
    floor = count
    if (count > cursor) cursor = count
    holes = holes.filter((hole) => hole >= count)
    for (const passed of taken) if (passed < count) drop(passed)
    seeded = true
  }

  function drop(count: bigint): void {
    taken.delete(count)
    deadlines.forget(count)
  }

  function next(): bigint {
    const count = holes.shift() ?? cursor++
    taken.add(count)
    deadlines.set(count)
    return count
  }

  return {
    ready,
    async reserve(amount) {
      await ready()
      return mutex.runExclusive(async () => {
        if (taken.size + amount > outstandingMax) await look()
        if (taken.size + amount > outstandingMax) throw full(outstandingMax)
        return Array.from({ length: amount }, next)
      })
    },
    commit(count) {
      deadlines.forget(count)
    },
    release(count) {
      if (!taken.has(count)) return
      drop(count)
      const at = holes.findIndex((hole) => hole > count)
      holes.splice(at < 0 ? holes.length : at, 0, count)
      while (holes.at(-1) === cursor - 1n) {
        holes.pop()
        cursor--
      }
    },
    renew(count) {
      if (taken.has(count)) deadlines.set(count)
    },
    resync: () => mutex.runExclusive(look),
    onGap(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    get snapshot() {
      return seeded ? { floor, cursor, holes: [...holes], inFlight: taken.size } : undefined
    },
    stop: () => deadlines.stop(),
  }
}

function full(outstandingMax: number): TxlaneError {
  return new TxlaneError(`${outstandingMax} nonces are handed out and not used yet.`, {
    code: 'QUEUE_FULL',
    fate: 'notExecuted',
  })
}
