import type { RecordedAttempt, RecordedError } from '../../../recorder/schema.js'
import type { EventName, ReportEvent } from '../read/event.js'

/** One thing that was told of a transaction. */
export type Entry = {
  readonly at: number
  readonly event: EventName
  /** Where it stood then, if anywhere. */
  readonly nonce: number | undefined
  readonly hash: string | undefined
  readonly error: RecordedError | undefined
}

export type Attempt = RecordedAttempt & { readonly at: number }

/** How it stands at the end of the recording. */
export type Outcome = 'sealed' | 'reverted' | 'failed' | 'cancelled' | 'superseded' | 'unresolved' | 'open'

/** What became of one transaction, in the order in which it was told. */
export type History = {
  /** Where it stands in the list of all. */
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
  const { at, nonce, hash, error } = event
  history.entries.push({ at, event: event.event, nonce, hash, error })
  for (const attempt of event.attempts ?? []) {
    if (!history.attempts.some((known) => known.hash === attempt.hash))
      history.attempts.push({ ...attempt, at })
  }
  history.outcome = outcomeAfter(history.outcome, event.event)
}

function outcomeAfter(before: Outcome, event: EventName): Outcome {
  switch (event) {
    case 'sealed':
      return before === 'reverted' ? before : 'sealed'
    case 'reverted':
    case 'failed':
    case 'cancelled':
    case 'superseded':
    case 'unresolved':
      return event
    case 'reorged':
      // Its block left the chain, and with it what is known of how it ran.
      return before === 'sealed' || before === 'reverted' ? 'open' : before
    case 'queued':
    case 'accepted':
    case 'preconfirmed':
      // Told again after a restart, or after the operator's word.
      return before === 'unresolved' ? 'open' : before
    default:
      return before
  }
}

/** It came into a sealed block, whatever it did there. */
export function isSealed({ outcome }: History): boolean {
  return outcome === 'sealed' || outcome === 'reverted'
}

/** The first time that this was told of it. */
export function firstAt({ entries }: History, ...events: readonly EventName[]): number | undefined {
  return entries.find(({ event }) => events.includes(event))?.at
}

/** The nonce that it has, or had last. */
export function nonceOf({ entries }: History): number | undefined {
  return entries.findLast(({ nonce }) => nonce !== undefined)?.nonce
}
