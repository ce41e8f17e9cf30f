import { type Entry, type History, nonceOf } from './model/history.js'
import { type ChainNames, chainText, laneOf } from './model/lane.js'
import type { Model } from './model/model.js'
import { PROBLEMS, type Problem, type ProblemKind, type ProblemState } from './model/problem.js'
import { errorText, waitText } from './model/words.js'
import type { PackedProblem, PackedTransaction, Payload, PayloadFees, PayloadLane } from './payload.js'

/** Limits that keep the page fast. Transactions with problems are kept before the others. */
const TRANSACTIONS_MAX = 20_000
const PROBLEMS_MAX = 3_000
const UNFINISHED_MAX = 1_000

export type Limits = { readonly transactionsMax: number; readonly problemsMax: number }

const KINDS = Object.keys(PROBLEMS) as readonly ProblemKind[]
const STATES: readonly ProblemState[] = ['open', 'ended', 'reported', 'mended']

/** Converts a model into the payload of its page. */
export function pack(
  model: Model,
  chains: ChainNames = new Map(),
  { transactionsMax, problemsMax }: Limits = {
    transactionsMax: TRANSACTIONS_MAX,
    problemsMax: PROBLEMS_MAX,
  },
): Payload {
  const { book, problems, summary, latency, throughput } = model
  const startedAt = book.startedAt ?? 0
  const shown = chosenProblems(problems, problemsMax)
  const unfinished = model.unfinished.slice(0, UNFINISHED_MAX)
  const named = [...unfinished, ...shown].flatMap(({ history }) => history ?? [])
  const histories = chosenHistories(book.histories, named, transactionsMax)
  const place = new Map(histories.map((history, index) => [history, index]))
  const lanes = [...book.lanes.keys()]
  const names = createNumbers<string>()
  const outcomes = createNumbers<string>()
  const fees = createFees()
  const packer = {
    startedAt,
    lanes: new Map(lanes.map((lane, index) => [lane, index])),
    names,
    outcomes,
    fees,
  }
  const transactions = histories.map((history) => packHistory(history, packer))
  return {
    startedAt,
    endedAt: book.endedAt ?? startedAt,
    shownFrom: shownFrom(book),
    lanes: lanes.map((lane) => payloadLane(lane, chains)),
    events: names.all,
    outcomes: outcomes.all,
    kinds: KINDS.map((name) => ({ name, ...PROBLEMS[name] })),
    states: STATES,
    fees: fees.all,
    transactions,
    transactionsInAll: book.histories.length,
    problems: shown.map((problem) => packProblem(problem, startedAt, packer.lanes, place)),
    problemsInAll: problems.length,
    unfinished: unfinished.flatMap(({ history, stage, since, why }) => {
      const index = place.get(history)
      return index === undefined ? [] : [[index, stage, since - startedAt, why] as const]
    }),
    unfinishedInAll: model.unfinished.length,
    groups: summary.problems,
    histogram: roundEdges(latency.histogram),
    spreads: latency.spreads,
    throughput: throughput ?? null,
  }
}

function payloadLane(lane: string, chains: ChainNames): PayloadLane {
  const { chainId, address } = laneOf(lane)
  return {
    address,
    chain: chainText(chainId, chains),
    explorer: chainId === undefined ? undefined : chains.get(chainId)?.explorer,
  }
}

/** Unsolved problems first, then an even selection of the others. */
function chosenProblems(problems: readonly Problem[], max: number): readonly Problem[] {
  if (problems.length <= max) return problems
  const open = problems.filter(({ state }) => state !== 'mended').slice(0, max)
  const rest = spread(
    problems.filter(({ state }) => state === 'mended'),
    max - open.length,
  )
  return [...open, ...rest].sort((a, b) => a.at - b.at)
}

function chosenHistories(
  histories: readonly History[],
  preferred: readonly History[],
  max: number,
): readonly History[] {
  if (histories.length <= max) return histories
  const named = new Set(preferred)
  const wrong = spread([...named], Math.floor(max / 2))
  const kept = new Set(wrong)
  const rest = spread(
    histories.filter((history) => !named.has(history)),
    max - wrong.length,
  )
  for (const history of rest) kept.add(history)
  return [...kept].sort((a, b) => a.index - b.index)
}

function spread<item>(all: readonly item[], max: number): readonly item[] {
  if (all.length <= max) return all
  return Array.from({ length: max }, (_, index) => all[Math.floor((index * all.length) / max)] as item)
}

type Packer = {
  readonly startedAt: number
  readonly lanes: ReadonlyMap<string, number>
  readonly names: Numbers<string>
  readonly outcomes: Numbers<string>
  readonly fees: Numbers<PayloadFees>
}

function packHistory(history: History, packer: Packer): PackedTransaction {
  const entries: number[] = []
  const nonces: number[] = []
  const notes: (string | number)[] = []
  let before = packer.startedAt
  let nonce = -1
  for (const [index, entry] of history.entries.entries()) {
    entries.push(packer.names.of(entry.event), entry.at - before)
    before = entry.at
    const note = noteOf(entry, history)
    if (note !== undefined) notes.push(index, note)
    // An entry without a nonce needs no record: a requeued transaction has no nonce until the next entry.
    if (entry.nonce === undefined || entry.nonce === nonce) continue
    nonce = entry.nonce
    nonces.push(index, nonce)
  }
  const attempts = history.attempts.flatMap(({ hash, at, nonce: _, ...fees }) => [
    hash,
    packer.fees.of(Object.entries(fees)),
    at - packer.startedAt,
  ])
  const base = [
    history.id,
    packer.lanes.get(history.lane) ?? -1,
    packer.outcomes.of(history.outcome),
    entries,
    nonces,
    attempts,
  ] as const
  return notes.length === 0 ? base : [...base, notes]
}

function noteOf({ event, error, hash, waitingFor }: Entry, { attempts }: History): string | undefined {
  if (error !== undefined) return errorText(error)
  if (waitingFor !== undefined) return `waits for ${waitText(waitingFor)}`
  if (event === 'foreign') return hash
  // The landed attempt, if the transaction has several.
  return event === 'sealed' && attempts.length > 1 ? hash : undefined
}

function packProblem(
  problem: Problem,
  startedAt: number,
  lanes: ReadonlyMap<string, number>,
  place: ReadonlyMap<History, number>,
): PackedProblem {
  const { history } = problem
  return [
    problem.at - startedAt,
    KINDS.indexOf(problem.kind),
    problem.times,
    problem.lane === undefined ? -1 : (lanes.get(problem.lane) ?? -1),
    problem.nonce ?? (history && nonceOf(history)) ?? -1,
    history === undefined ? -1 : (place.get(history) ?? -1),
    // Omitted if equal to the description of its kind.
    problem.what === PROBLEMS[problem.kind].what ? '' : problem.what,
    STATES.indexOf(problem.state),
    problem.ended,
    problem.endedAt === undefined ? -1 : Math.max(0, problem.endedAt - problem.at),
  ]
}

function roundEdges(histogram: Payload['histogram']): Payload['histogram'] {
  return { ...histogram, edgesMs: histogram.edgesMs.map((edge) => Math.round(edge * 10) / 10) }
}

type Numbers<item> = { readonly all: readonly item[]; of(item: item): number }

/** Assigns a number to each distinct item. */
function createNumbers<item>(keyOf: (item: item) => unknown = (item) => item): Numbers<item> {
  const all: item[] = []
  const known = new Map<unknown, number>()
  return {
    all,
    of(item) {
      const key = keyOf(item)
      const number = known.get(key) ?? all.push(item) - 1
      known.set(key, number)
      return number
    },
  }
}

function createFees(): Numbers<PayloadFees> {
  return createNumbers<PayloadFees>((fees) => JSON.stringify(fees))
}

const MARGIN_SHARE = 0.02

/** The time before the first event would squeeze the others into a corner of the chart. */
function shownFrom({ startedAt = 0, endedAt = startedAt, firstEventAt = startedAt }: Model['book']): number {
  return Math.max(startedAt, Math.floor(firstEventAt - (endedAt - firstEventAt) * MARGIN_SHARE))
}
