import type { RecordedAttempt, RecordedError } from '../../../src/recorder/schema.js'
import type { EventName, ReportEvent } from '../read/event.js'

/** One event of a transaction. */
export type Entry = {
  readonly at: number
  readonly event: EventName
  /** The transaction's nonce at that time, if any. */
  readonly nonce: number | undefined
  readonly hash: string | undefined
  readonly error: RecordedError | undefined
  readonly waitingFor: string | undefined
}

export type Attempt = RecordedAttempt & { readonly at: number }

/** State of a transaction at the end of the recording. `aborted`: it failed because the caller's signal aborted. */
export type Outcome =
  | 'sealed'
  | 'reverted'
  | 'failed'
  | 'aborted'
  | 'cancelled'
  | 'superseded'
  | 'unresolved'
  | 'open'

/** Events of one transaction, in the order of the recording. */
export type History = {
  /** Index in the list of all histories. */
  readonly index: number
  readonly id: string
  readonly lane: string
  readonly entries: Entry[]
  readonly attempts: Attempt[]
  outcome: Outcome
}

export function createHistory(index: number, id: string, lane: string): History {
  return { index, id, lane, entries: [], attempts: [], outcome: 'open' }
}

export function addTo(history: History, event: ReportEvent): void {
  const { at, nonce, hash, error, waitingFor } = event
  history.entries.push({ at, event: event.event, nonce, hash, error, waitingFor })
  for (const attempt of event.attempts ?? []) {
    if (!history.attempts.some((known) => known.hash === attempt.hash))
      history.attempts.push({ ...attempt, at })
  }
  history.outcome = outcomeAfter(history.outcome, isAborted(event) ? 'aborted' : event.event)
}

/** Whether the transaction failed because the caller's signal aborted. */
export function isAborted({ event, error }: Pick<ReportEvent, 'event' | 'error'>): boolean {
  return event === 'failed' && error?.code === 'ABORTED'
}

/** Outcomes after which the caller may send the same id again. */
const ENDED: ReadonlySet<string> = new Set(['failed', 'aborted', 'cancelled', 'superseded'])

function outcomeAfter(before: Outcome, event: EventName | 'aborted'): Outcome {
  switch (event) {
    case 'sealed':
      return before === 'reverted' ? before : 'sealed'
    case 'reverted':
    case 'failed':
    case 'aborted':
    case 'cancelled':
    case 'superseded':
    case 'unresolved':
      return event
    case 'reorged':
      // The block left the chain, so the status is unknown again.
      return before === 'sealed' || before === 'reverted' ? 'open' : before
    case 'queued':
      return before === 'unresolved' || ENDED.has(before) ? 'open' : before
    case 'accepted':
    case 'preconfirmed':
      // Emitted again after a restart, or after an operator resolved it.
      return before === 'unresolved' ? 'open' : before
    default:
      return before
  }
}

/** Whether a sealed block contains the transaction, successful or not. */
export function isSealed({ outcome }: History): boolean {
  return outcome === 'sealed' || outcome === 'reverted'
}

/** Time of the first of these events. */
export function firstAt({ entries }: History, ...events: readonly EventName[]): number | undefined {
  return entries.find(({ event }) => events.includes(event))?.at
}

/** The current or last nonce of the transaction. */
export function nonceOf({ entries }: History): number | undefined {
  return entries.findLast(({ nonce }) => nonce !== undefined)?.nonce
}
