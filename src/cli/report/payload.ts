import type { Histogram, Latency } from './model/latency.js'
import type { ProblemRole, ProblemState } from './model/problem.js'
import type { ProblemGroup } from './model/summary.js'
import type { Throughput } from './model/throughput.js'

/**
 * What the page is given, as JSON: lists in place of objects where there are many, since a page of 20,000 transactions is
 * to stay a few megabytes. Times are milliseconds since the one before, or since the start.
 */
export type Payload = {
  readonly startedAt: number
  readonly endedAt: number
  readonly lanes: readonly string[]
  /** Names by the numbers that stand for them below. */
  readonly events: readonly string[]
  readonly outcomes: readonly string[]
  readonly kinds: readonly PayloadKind[]
  readonly states: readonly ProblemState[]
  readonly fees: readonly PayloadFees[]
  readonly transactions: readonly PackedTransaction[]
  readonly transactionsInAll: number
  readonly problems: readonly PackedProblem[]
  readonly problemsInAll: number
  readonly groups: readonly ProblemGroup[]
  readonly histogram: Histogram
  readonly spreads: Latency['spreads']
  readonly throughput: Throughput | null
}

export type PayloadKind = { readonly name: string; readonly role: ProblemRole; readonly what: string }

/** Names and wei per gas. */
export type PayloadFees = readonly (readonly [name: string, wei: string])[]

export type PackedTransaction = readonly [
  id: string,
  lane: number,
  outcome: number,
  /** Event and time, event and time. */
  entries: readonly number[],
  /** Entry and the nonce from there on; -1 for none. */
  nonces: readonly number[],
  /** Hash, index of its fees, time since the start. */
  attempts: readonly (string | number)[],
  /** Entry and what was said there. */
  notes?: readonly (string | number)[],
]

export type PackedProblem = readonly [
  /** Since the start. */
  at: number,
  kind: number,
  times: number,
  /** -1 for none, here and below. */
  lane: number,
  nonce: number,
  transaction: number,
  what: string,
  state: number,
  ended: string,
  endedAfter: number,
]
