import type { Book } from './book.js'
import { type Entry, type History, nonceOf } from './history.js'
import type { Problem } from './problem.js'
import { waitText } from './words.js'

/** A transaction without an end in the recording. */
export type Unfinished = {
  readonly history: History
  /** The stage that it has reached, and since when. */
  readonly stage: string
  readonly since: number
  /** Why it does not progress, in one sentence. */
  readonly why: string
}

/** The transactions that are stuck or still in progress at the end, each with the reason that the recording shows. */
export function unfinishedOf(book: Book, problems: readonly Problem[]): readonly Unfinished[] {
  const open = book.histories.filter(({ outcome }) => outcome === 'open' || outcome === 'unresolved')
  const lanes = lanesOf(open, problems)
  return open
    .map((history) => {
      const { stage, since } = reached(history)
      return { history, stage, since, why: why(history, stage, lanes.get(history.lane)) }
    })
    .sort((a, b) => (nonceOf(a.history) ?? LAST) - (nonceOf(b.history) ?? LAST) || a.since - b.since)
}

const LAST = Number.POSITIVE_INFINITY

type LaneState = {
  /** The unfinished transaction with the lowest nonce. */
  head: History | undefined
  hold: Problem | undefined
  gap: Problem | undefined
}

function lanesOf(open: readonly History[], problems: readonly Problem[]): ReadonlyMap<string, LaneState> {
  const lanes = new Map<string, LaneState>()
  for (const history of open) {
    const lane = lanes.get(history.lane) ?? { head: undefined, hold: undefined, gap: undefined }
    lanes.set(history.lane, lane)
    if ((nonceOf(history) ?? LAST) < ((lane.head && nonceOf(lane.head)) ?? LAST)) lane.head = history
  }
  for (const problem of problems) {
    const lane = problem.state === 'open' ? lanes.get(problem.lane ?? '') : undefined
    if (lane === undefined) continue
    if (problem.kind === 'held' || problem.kind === 'paused') lane.hold ??= problem
    if (problem.kind === 'gap') lane.gap ??= problem
  }
  return lanes
}

const STAGES: Readonly<Record<string, string>> = {
  queued: 'queued',
  signed: 'signed',
  accepted: 'accepted',
  preconfirmed: 'preconfirmed',
  // Another transaction used the nonce of this one: it needs a new nonce.
  foreign: 'queued',
  // The block of the transaction left the chain, and the network may still have its bytes.
  reorged: 'accepted',
  unresolved: 'unresolved',
}

function reached({ entries }: History): { readonly stage: string; readonly since: number } {
  const last = entries.findLast(({ event }) => STAGES[event] !== undefined)
  return { stage: STAGES[last?.event ?? ''] ?? 'queued', since: last?.at ?? entries[0]?.at ?? 0 }
}

/** The reason in the transaction's own events, else that of its lane, else the next step of its stage. */
function why(history: History, stage: string, lane: LaneState | undefined): string {
  const own = history.entries.findLast(({ event }) => event in STAGES || event in OWN)
  const said = own && OWN[own.event]?.(own)
  if (said !== undefined) return said
  const nonce = nonceOf(history)
  const isQueued = stage === 'queued'
  if (isQueued && lane?.hold !== undefined) return `${lane.hold.what}.`
  const gap = lane?.gap?.nonce
  if (nonce !== undefined && gap !== undefined && gap < nonce) return `The nonce ${gap} below it is empty.`
  const { head } = lane ?? {}
  const before = head && nonceOf(head)
  if (!isQueued && head !== undefined && head !== history && before !== undefined && before !== nonce)
    return `It waits for nonce ${before}, transaction ${head.id}.`
  return NEXT[stage] ?? ''
}

const OWN: Readonly<Record<string, (entry: Entry) => string>> = {
  unresolved: () =>
    'Its nonce is used, and no source shows by which transaction. An operator has to decide with resolve().',
  stuck: () =>
    'Blocks pass without it, because an endpoint has another transaction at its nonce. A higher fee can outbid that one.',
  feeCeiling: () =>
    'Blocks pass without it, and its fees are at their ceiling or were raised as often as allowed.',
  displaced: () => 'An endpoint has another transaction at its nonce.',
  reorged: () => 'Its block left the chain, and no later block had it.',
  foreign: () => 'Another transaction of the same key used its nonce, and it has no new nonce yet.',
  waiting: ({ waitingFor = '' }) => `It waits for ${waitText(waitingFor)}.`,
  reordered: ({ waitingFor = '' }) => `It waits for ${waitText(waitingFor)}.`,
}

const NEXT: Readonly<Record<string, string>> = {
  queued: 'It is in the queue, and has no nonce yet.',
  signed: 'It is signed, and no endpoint has accepted it.',
  accepted: 'An endpoint accepted it, and no block had it by the end of the recording.',
  preconfirmed: 'A pending block had it, and no sealed block by the end of the recording.',
}
