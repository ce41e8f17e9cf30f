import type { Book } from './book.js'
import { isSealed, type Outcome } from './history.js'
import { LATENCY_STAGES, type Latency } from './latency.js'
import type { Problem, ProblemKind, ProblemState } from './problem.js'
import type { Throughput } from './throughput.js'
import { counted, duration, number, short } from './words.js'

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
    Record<'lives' | 'notClosed' | 'events' | 'dropped' | 'tornLines' | 'unknownEvents', number>
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
      lives: book.lives.length,
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
  return [...groups]
    .map(([kind, group]) => ({ kind, ...group }))
    .sort((a, b) => b.states.open - a.states.open || b.rows - a.rows)
}

/** The figures as sentences, for the top of the page. */
export function sentencesOf(summary: Summary): readonly string[] {
  const { transactions: all, lanes, recording } = summary
  if (all.sent === 0) return [emptySentence(recording.events, lanes)]
  return [
    `${counted(all.sent, 'transaction')} ${fromLanes(lanes)}, in ${duration(summary.durationMs)}.`,
    `${outcomes(all)}.`,
    gapSentence(summary.gaps),
    rateSentence(summary),
    latencySentence(summary.latencyMs),
    missingSentence(recording),
  ].filter((sentence) => sentence !== '')
}

function emptySentence(events: number, lanes: readonly string[]): string {
  const heard =
    events === 0 ? 'No event was recorded' : `${counted(events, 'event')}, but none of a transaction`
  return lanes.length === 0 ? `${heard}: the recorder followed no sender.` : `${heard} ${fromLanes(lanes)}.`
}

function fromLanes(lanes: readonly string[]): string {
  if (lanes.length !== 1) return `on ${lanes.length} lanes`
  const [chainId = '', address = ''] = (lanes[0] ?? '').split(':')
  return `from ${short(address)} on chain ${chainId}`
}

function outcomes(all: Summary['transactions']): string {
  const reverted = all.reverted > 0 ? ` (${number(all.reverted)} of which reverted)` : ''
  const rest = [
    [all.failed, 'failed'],
    [all.cancelled, all.cancelled === 1 ? 'was cancelled' : 'were cancelled'],
    [all.superseded, all.superseded === 1 ? 'was superseded' : 'were superseded'],
    [all.unresolved, all.unresolved === 1 ? 'is unresolved' : 'are unresolved'],
    [all.open, all.open === 1 ? 'was still open at the end' : 'were still open at the end'],
  ] as const
  const others = rest.flatMap(([count, what]) => (count > 0 ? [`${number(count)} ${what}`] : []))
  const failed = all.failed === 0 ? 'none failed' : []
  const many = all.sealed === all.sent && all.sent > 1 ? 'All' : number(all.sealed)
  const sealed = `${many} ${all.sealed === 1 ? 'was' : 'were'} sealed${reverted}`
  return [sealed, ...others, failed].flat().join(', ')
}

function gapSentence({ found, open }: Summary['gaps']): string {
  if (found === 0) return 'No gap was found.'
  const end = open === 0 ? 'all filled' : `${number(open)} not filled by the end`
  return `${counted(found, 'gap')} found, ${found === 1 && open === 0 ? 'and filled' : end}.`
}

function rateSentence({ acceptedPerSecond: { peak, mean } }: Summary): string {
  return peak === 0 ? '' : `${number(mean)} per second were accepted, at most ${number(peak)}.`
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
    ...(notClosed > 0 ? ['it was not closed'] : []),
  ]
  return parts.length === 0 ? '' : `The recording is incomplete: ${parts.join(', ')}.`
}
