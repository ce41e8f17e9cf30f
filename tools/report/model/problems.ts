import { holdLift } from '../../../src/lane/reasons/sentence.js'
import type { HoldReason } from '../../../src/types/lane.js'
import type { ReportEvent } from '../read/event.js'
import type { Book } from './book.js'
import { type End, endOf, gapEnd } from './ends.js'
import { isAborted } from './history.js'
import { PROBLEMS, type Problem, type ProblemKind } from './problem.js'
import { counted, waitText } from './words.js'

/** Finds all problems, repairs and cancellations with their ends, ordered by time. */
export function problemsOf(book: Book): readonly Problem[] {
  const found: Problem[] = []
  // Repeated events of one transaction share a row.
  const repeated = new Map<string, Problem>()
  const filledAfterGap = new Set<string>()
  // Holds and outages that have not ended yet.
  const lasting = new Map<string, Problem>()

  for (const event of book.events) {
    const kind = kindOf(event)
    if (kind === undefined) {
      endLasting(lasting, event)
      continue
    }
    const place = `${event.lane} ${event.nonce}`
    if (kind === 'gap') filledAfterGap.add(place)
    // The event ends a listed gap, and is not another problem.
    if (kind === 'gapFilled' && filledAfterGap.has(place)) continue
    const key = repeatsAs(kind, event)
    const known = key === undefined ? undefined : repeated.get(key)
    if (known) {
      known.times++
      continue
    }
    const problem = begin(book, kind, event)
    if (key !== undefined) repeated.set(key, problem)
    if (LASTING.includes(kind)) lasting.set(lastingKey(kind, event), problem)
    found.push(problem)
  }
  return [...found, ...ofTheRecording(book)].sort((a, b) => a.at - b.at)
}

function kindOf(report: ReportEvent): ProblemKind | undefined {
  const { event, change, reason } = report
  switch (event) {
    case 'queued':
    case 'signed':
    case 'accepted':
    case 'preconfirmed':
    case 'sealed':
    case 'released':
    case 'leaseGained':
      return undefined
    case 'endpoint':
      if (change === 'down' || change === 'failing') return 'endpointDown'
      return change === 'wrongChain' ? 'wrongChain' : undefined
    case 'held':
      return reason === 'paused' ? 'paused' : 'held'
    case 'failed':
      return isAborted(report) ? 'aborted' : 'failed'
    default:
      return event
  }
}

function repeatsAs(kind: ProblemKind, { lane, id, error }: ReportEvent): string | undefined {
  if (kind === 'error') return `${kind} ${lane} ${error?.code} ${error?.message}`
  return id !== undefined && ONCE.has(kind) ? `${kind} ${lane} ${id}` : undefined
}

/**
 * Kinds with one row for each transaction: the rows of `reverted` then equal the transactions that reverted, also if a
 * reorg made one revert twice. Two foreign nonces of a transaction are two rows.
 */
const ONCE: ReadonlySet<ProblemKind> = new Set<ProblemKind>([
  'aborted',
  'cancelled',
  'failed',
  'feeCeiling',
  'rebroadcast',
  'replaced',
  'reverted',
  'stuck',
  'superseded',
  'unresolved',
])

function begin(book: Book, kind: ProblemKind, event: ReportEvent): Problem {
  const { at, lane, nonce, id } = event
  const history = id === undefined ? undefined : book.lanes.get(lane)?.histories.get(id)
  const end: End =
    kind === 'gap' && nonce !== undefined
      ? gapEnd(book.lanes.get(lane)?.nonces.get(nonce) ?? [], at)
      : endOf(kind, event, history)
  return { kind, at, times: 1, lane, nonce, history, what: whatOf(kind, event), ...end }
}

function whatOf(kind: ProblemKind, event: ReportEvent): string {
  const { reason, detail, endpoint, said, waitingFor, error } = event
  // The name of the endpoint, the reason or the error, followed by the detail.
  if (kind === 'paused') return PROBLEMS[kind].what
  const named =
    endpoint ??
    reason ??
    (waitingFor && waitText(waitingFor)) ??
    (kind === 'error' ? error?.message : undefined)
  const held = kind === 'held' ? holdLift(reason as HoldReason, undefined) : undefined
  const more =
    endpoint === undefined ? (detail ?? held) : (reason ?? (said === undefined ? undefined : `"${said}"`))
  return [PROBLEMS[kind].what, named, more].filter((part) => part !== undefined).join(': ')
}

const BACK: ReadonlySet<string> = new Set(['up', 'reader', 'answering'])
const LASTING: readonly ProblemKind[] = ['held', 'paused', 'endpointDown', 'wrongChain']

function lastingKey(kind: ProblemKind, { lane, reason, endpoint }: ReportEvent): string {
  return `${kind} ${lane} ${endpoint ?? reason}`
}

/** `released` ends the hold with the same reason; `up` and `reader` end the outage of the endpoint. */
function endLasting(lasting: Map<string, Problem>, event: ReportEvent): void {
  const isUp = event.event === 'endpoint' && BACK.has(event.change ?? '')
  if (event.event !== 'released' && !isUp) return
  const kinds: readonly ProblemKind[] = isUp ? ['endpointDown', 'wrongChain'] : ['held', 'paused']
  for (const kind of kinds) {
    const key = lastingKey(kind, event)
    const problem = lasting.get(key)
    if (problem === undefined) continue
    problem.state = 'mended'
    problem.endedAt = event.at
    problem.ended = isUp ? 'It is used again' : 'Released'
    lasting.delete(key)
  }
}

const LOST = {
  dropped: 'These events are lost',
  torn: 'The rest of the line is lost',
  cutOff: 'Later events of this run may be missing',
}

/** Problems of the recording itself. */
function ofTheRecording(book: Book): readonly Problem[] {
  const { lives, dropped, torn, startedAt = 0 } = book
  const at = (
    kind: 'dropped' | 'torn' | 'cutOff',
    time: number,
    times: number,
    what = PROBLEMS[kind].what,
  ): Problem => ({
    kind,
    at: time,
    times,
    lane: undefined,
    nonce: undefined,
    history: undefined,
    what,
    state: 'reported',
    ended: LOST[kind],
    endedAt: undefined,
  })
  return [
    ...dropped.map((one) =>
      at('dropped', one.at, 1, `${counted(one.count, 'event')} missing: the recorder's buffer was full`),
    ),
    ...(torn > 0 ? [at('torn', startedAt, torn)] : []),
    ...lives.filter(({ closed }) => !closed).map((life) => at('cutOff', life.at, 1)),
  ]
}
