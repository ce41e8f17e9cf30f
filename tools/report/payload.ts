import type { Histogram, Latency } from './model/latency.js'
import type { ProblemRole, ProblemState } from './model/problem.js'
import type { ProblemGroup } from './model/summary.js'
import type { Throughput } from './model/throughput.js'

/**
 * The JSON data of the page. Long collections use arrays instead of objects, to keep a page of 20,000
 * transactions at a few megabytes. Times are milliseconds since the previous entry, or since the start.
 */
export type Payload = {
  readonly startedAt: number
  readonly endedAt: number
  /** The charts begin here, just before the first event. */
  readonly shownFrom: number
  readonly lanes: readonly PayloadLane[]
  /** Names; entries below refer to them by index. */
  readonly events: readonly string[]
  readonly outcomes: readonly string[]
  readonly kinds: readonly PayloadKind[]
  readonly states: readonly ProblemState[]
  readonly fees: readonly PayloadFees[]
  readonly transactions: readonly PackedTransaction[]
  readonly transactionsInAll: number
  readonly problems: readonly PackedProblem[]
  readonly problemsInAll: number
  readonly unfinished: readonly PackedUnfinished[]
  readonly unfinishedInAll: number
  readonly groups: readonly ProblemGroup[]
  readonly histogram: Histogram
  readonly spreads: Latency['spreads']
  readonly throughput: Throughput | null
}

export type PayloadLane = {
  readonly address: string
  /** `Base (chain 8453)`, or `chain 31337`. */
  readonly chain: string
  /** The URL of the chain's explorer, if viem knows one. */
  readonly explorer: string | undefined
}

export type PackedUnfinished = readonly [transaction: number, stage: string, since: number, why: string]

export type PayloadKind = { readonly name: string; readonly role: ProblemRole; readonly what: string }

/** Fee names with wei per gas. */
export type PayloadFees = readonly (readonly [name: string, wei: string])[]

export type PackedTransaction = readonly [
  id: string,
  lane: number,
  outcome: number,
  /** Alternating event index and time. */
  entries: readonly number[],
  /** Alternating entry index and its nonce from there on; -1 for none. */
  nonces: readonly number[],
  /** Hash, fee index and time since the start, repeated. */
  attempts: readonly (string | number)[],
  /** Alternating entry index and its note. */
  notes?: readonly (string | number)[],
]

export type PackedProblem = readonly [
  /** Milliseconds since the start. */
  at: number,
  kind: number,
  times: number,
  /** -1 for none; the same for the next two. */
  lane: number,
  nonce: number,
  transaction: number,
  what: string,
  state: number,
  ended: string,
  endedAfter: number,
]
