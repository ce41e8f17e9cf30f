import type { Book } from './book.js'
import { isSealed, type Outcome } from './history.js'
import { type ChainNames, chainText, laneOf } from './lane.js'
import { LATENCY_STAGES, type Latency } from './latency.js'
import { PROBLEMS, type Problem, type ProblemKind, type ProblemState } from './problem.js'
import type { Throughput } from './throughput.js'
import { counted, duration, number, short, utc } from './words.js'

/** Figures of a recording. `--json` prints this object. */
export type Summary = {
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly durationMs: number
  readonly lanes: readonly string[]
  readonly transactions: { readonly sent: number } & Readonly<Record<Outcome, number>>
  readonly gaps: Readonly<Record<'found' | 'filled' | 'open', number>>
  readonly latencyMs: Latency['spreads']
  /** Maximum in any second, and mean from the first to the last acceptance. */
  readonly acceptedPerSecond: Readonly<Record<'peak' | 'mean', number>>
  readonly problems: readonly ProblemGroup[]
  readonly recording: Readonly<
    Record<'sessions' | 'notClosed' | 'events' | 'dropped' | 'tornLines' | 'unknownEvents', number>
  > & { readonly packages: readonly string[] }
}

/** All problems of one kind. */
export type ProblemGroup = {
  readonly kind: ProblemKind
  readonly rows: number
  readonly times: number
  readonly states: Readonly<Record<ProblemState, number>>
}

export function summaryOf(
  book: Book,
  problems: readonly Problem[],
  latency: Latency,
  throughput: Throughput | undefined,
): Summary {
  const { startedAt = null, endedAt = null, histories } = book
  const gaps = problems.filter(({ kind }) => kind === 'gap')
  const filled = gaps.filter(({ state }) => state === 'mended').length
  return {
    startedAt,
    endedAt,
    durationMs: startedAt === null || endedAt === null ? 0 : endedAt - startedAt,
    lanes: [...book.lanes.keys()],
    transactions: countOutcomes(book),
    gaps: { found: gaps.length, filled, open: gaps.length - filled },
    latencyMs: latency.spreads,
    acceptedPerSecond: rates(throughput),
    problems: groupsOf(problems),
    recording: {
      sessions: book.lives.length,
      notClosed: book.lives.filter(({ closed }) => !closed).length,
      events: book.eventCount,
      dropped: book.dropped.reduce((sum, { count }) => sum + count, 0),
      tornLines: book.torn,
      unknownEvents: book.unknown,
      packages: [...new Set(book.lives.flatMap((life) => life.package ?? []))],
    },
  }

  function countOutcomes({ histories: all }: Book): Summary['transactions'] {
    const counts = {
      sent: histories.length,
      sealed: 0,
      reverted: 0,
      failed: 0,
      aborted: 0,
      cancelled: 0,
      superseded: 0,
      unresolved: 0,
      open: 0,
    }
    for (const history of all) {
      // A reverted transaction also counts as sealed.
      if (isSealed(history)) counts.sealed++
      if (history.outcome !== 'sealed') counts[history.outcome]++
    }
    return counts
  }
}

function rates(throughput: Throughput | undefined): Summary['acceptedPerSecond'] {
  const accepted = throughput?.perSecond.accepted ?? []
  const first = accepted.findIndex((rate) => rate > 0)
  const busy = first < 0 ? [] : accepted.slice(first, accepted.findLastIndex((rate) => rate > 0) + 1)
  const mean = busy.length === 0 ? 0 : busy.reduce((sum, rate) => sum + rate, 0) / busy.length
  return { peak: rounded(Math.max(0, ...busy)), mean: rounded(mean) }
}

function rounded(rate: number): number {
  return Math.round(rate * 10) / 10
}

function groupsOf(problems: readonly Problem[]): readonly ProblemGroup[] {
  const groups = new Map<ProblemKind, { rows: number; times: number; states: Record<ProblemState, number> }>()
  for (const { kind, times, state } of problems) {
    const group = groups.get(kind) ?? {
      rows: 0,
      times: 0,
      states: { mended: 0, ended: 0, reported: 0, open: 0 },
    }
    group.rows++
    group.times += times
    group.states[state]++
    groups.set(kind, group)
  }
  return [...groups].map(([kind, group]) => ({ kind, ...group })).sort((a, b) => rankOf(a) - rankOf(b))
}

const KINDS = Object.keys(PROBLEMS)

/** The most serious kind is first; a kind with an open case is more serious than all others. */
function rankOf({ kind, states }: ProblemGroup): number {
  return KINDS.indexOf(kind) - (states.open > 0 ? KINDS.length : 0)
}

/** The figures as sentences, for the top of the page. */
export function sentencesOf(summary: Summary, chains: ChainNames = new Map()): readonly string[] {
  const { transactions: all, lanes, recording } = summary
  const from = fromLanes(lanes, chains)
  if (all.sent === 0) {
    return [`The recording has ${counted(recording.events, 'event')} ${from}, and no transaction.`]
  }
  return [
    `The recording has ${counted(all.sent, 'transaction')} ${from}${timesOf(summary)}.`,
    `${outcomes(all)}.`,
    gapSentence(summary.gaps),
    rateSentence(summary),
    latencySentence(summary.latencyMs),
    missingSentence(recording),
  ].filter((sentence) => sentence !== '')
}

function fromLanes(lanes: readonly string[], chains: ChainNames): string {
  const [first] = lanes
  if (first === undefined || lanes.length > 1) return `from ${counted(lanes.length, 'lane')}`
  const { chainId, address } = laneOf(first)
  return `from account ${short(address)} on ${chainText(chainId, chains)}`
}

function timesOf({ startedAt, endedAt, durationMs }: Summary): string {
  if (startedAt === null || endedAt === null) return ''
  return `, from ${utc(startedAt)} to ${utc(endedAt)} (${duration(durationMs)})`
}

function outcomes(all: Summary['transactions']): string {
  const reverted = all.reverted > 0 ? ` (${number(all.reverted)} of which reverted)` : ''
  const rest = [
    [all.failed, 'failed'],
    [all.aborted, all.aborted === 1 ? 'was aborted by the caller' : 'were aborted by the caller'],
    [all.cancelled, all.cancelled === 1 ? 'was cancelled' : 'were cancelled'],
    [
      all.superseded,
      all.superseded === 1 ? 'was superseded by its replacement' : 'were superseded by their replacements',
    ],
    [all.unresolved, all.unresolved === 1 ? 'is unresolved' : 'are unresolved'],
    [all.open, all.open === 1 ? 'was not finished by the end' : 'were not finished by the end'],
  ] as const
  const others = rest.flatMap(([count, what]) => (count > 0 ? [`${number(count)} ${what}`] : []))
  const failed = all.failed === 0 ? 'none failed' : []
  const many = all.sealed === all.sent && all.sent > 1 ? 'All' : number(all.sealed)
  const sealed = `${many} ${all.sealed === 1 ? 'was' : 'were'} sealed${reverted}`
  return [sealed, ...others, failed].flat().join(', ')
}

function gapSentence({ found, open }: Summary['gaps']): string {
  if (found === 0) return 'No nonce was left empty.'
  const end = open === 0 ? 'filled' : `${number(open)} of them not filled by the end`
  const were = found === 1 ? 'nonce was empty below used ones' : 'nonces were empty below used ones'
  return `${number(found)} ${were}, ${open === 0 ? (found === 1 ? 'and was filled' : 'and all were filled') : end}.`
}

function rateSentence({ acceptedPerSecond: { peak, mean } }: Summary): string {
  return peak === 0
    ? ''
    : `On average ${number(mean)} per second were accepted, and at most ${number(peak)} in one second.`
}

function latencySentence(spreads: Latency['spreads']): string {
  const parts = LATENCY_STAGES.flatMap((stage) => {
    const spread = spreads[stage]
    return spread ? [`${stage} within ${duration(spread.p50)}`] : []
  })
  return parts.length === 0 ? '' : `Half were ${parts.join(', ')}.`
}

function missingSentence({ dropped, tornLines, notClosed }: Summary['recording']): string {
  const parts = [
    ...(dropped > 0 ? [`${counted(dropped, 'event')} missing`] : []),
    ...(tornLines > 0 ? [`${counted(tornLines, 'line')} cut off`] : []),
    ...(notClosed > 0 ? ['the recorder was not closed'] : []),
  ]
  return parts.length === 0 ? '' : `The recording is incomplete: ${parts.join(', ')}.`
}
