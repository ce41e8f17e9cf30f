import type { Probe } from '../../src/chain/environment.js'
import type { SendOutcome } from '../../src/rpc/outcome.js'
import type { PushEvent } from './port/heads.js'
import type { SyncEvent } from './port/syncSends.js'

/** The number of occurrences, by name. */
export type Counts = Readonly<Record<string, number>>

/**
 * The things that a simulation exercised: rows of the table, meanings of answers, and faults of the world.
 */
export type Coverage = {
  /** Section 4, by row number. */
  readonly rows: Counts
  /** Section 5, as `outcome reason`. */
  readonly outcomes: Counts
  readonly faults: Counts
  /** The announcements of endpoints, and their answers to sync sends. */
  readonly sockets: Counts
}

export type Count = (event: PushEvent | SyncEvent) => void

export type Counter = Probe & {
  strike(fault: string): void
  count: Count
  coverage(): Coverage
}

/** Counts over many worlds; created once, because a world is short. */
export function createCounter(): Counter {
  const rows: Record<string, number> = {}
  const outcomes: Record<string, number> = {}
  const faults: Record<string, number> = {}
  const sockets: Record<string, number> = {}
  return {
    row(row) {
      if (row > 0) rows[row] = (rows[row] ?? 0) + 1
    },
    outcome({ outcome, reason }: SendOutcome) {
      const name = `${outcome} ${reason}`
      outcomes[name] = (outcomes[name] ?? 0) + 1
    },
    strike(fault) {
      faults[fault] = (faults[fault] ?? 0) + 1
    },
    count(event) {
      sockets[event] = (sockets[event] ?? 0) + 1
    },
    coverage: () => ({ rows, outcomes, faults, sockets }),
  }
}

/** The expected names that were never exercised. */
export function missing(counts: Counts, expected: Iterable<string | number>): string[] {
  return [...expected].map(String).filter((name) => (counts[name] ?? 0) === 0)
}
