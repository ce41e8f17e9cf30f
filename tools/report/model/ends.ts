import type { ReportEvent } from '../read/event.js'
import type { NonceEntry } from './book.js'
import type { Entry, History } from './history.js'
import type { Problem, ProblemKind } from './problem.js'
import { errorText } from './words.js'

export type End = Pick<Problem, 'state' | 'ended' | 'endedAt'>

const reported = (ended = ''): End => ({ state: 'reported', ended, endedAt: undefined })
const open = (ended: string): End => ({ state: 'open', ended, endedAt: undefined })

/** The end of a problem that began with this event, according to the transaction's history. */
export function endOf(kind: ProblemKind, event: ReportEvent, history: History | undefined): End {
  switch (kind) {
    case 'failed':
    case 'cancelled':
    case 'superseded':
      return { state: 'ended', ended: reasonOf(event), endedAt: event.at }
    case 'reverted':
      return { state: 'ended', ended: 'Executed, and not sent again', endedAt: event.at }
    case 'error':
      return reported(event.error?.code === undefined ? '' : reasonOf(event))
    case 'leaseLost':
      return reported('This process continued as a standby')
    case 'gapFilled':
      return { state: 'mended', ended: 'The nonce is used', endedAt: event.at }
    case 'held':
      return open('Not released by the end')
    case 'endpointDown':
    case 'wrongChain':
      return open('Not back by the end')
    default:
      return history === undefined ? withoutTransaction(kind) : afterwards(history, event)
  }
}

function withoutTransaction(kind: ProblemKind): End {
  return kind === 'foreign' ? reported('No transaction had this nonce') : reported()
}

function reasonOf({ error }: ReportEvent): string {
  return error === undefined ? '' : errorText(error)
}

/** The next event that decides the transaction's outcome. */
function afterwards(history: History, { at, event, nonce }: ReportEvent): End {
  const from = history.entries.findIndex((entry) => entry.at === at && entry.event === event)
  const next = history.entries.slice(from + 1).find(decides)
  if (next === undefined) return open('Still open at the end')
  switch (next.event) {
    case 'sealed':
      return { state: 'mended', ended: sealedText(next, nonce), endedAt: next.at }
    case 'reverted':
      return { state: 'ended', ended: 'Executed and reverted', endedAt: next.at }
    case 'unresolved':
      return open('Unresolved: an operator has to decide')
    default:
      return { state: 'ended', ended: `${ENDED[next.event] ?? next.event}${because(next)}`, endedAt: next.at }
  }
}

function decides({ event }: Entry): boolean {
  return ['sealed', 'reverted', 'failed', 'cancelled', 'superseded', 'unresolved'].includes(event)
}

function sealedText(entry: Entry, before: number | undefined): string {
  const elsewhere = entry.nonce !== undefined && before !== undefined && entry.nonce !== before
  return elsewhere ? `Sealed at nonce ${entry.nonce}` : 'Sealed'
}

const ENDED: Readonly<Record<string, string>> = {
  failed: 'Failed',
  cancelled: 'Cancelled',
  superseded: 'Superseded',
}

function because({ error }: Entry): string {
  return error === undefined ? '' : ` with ${error.code ?? error.name}`
}

/** The end of a gap, by the event that used the nonce. */
export function gapEnd(entries: readonly NonceEntry[], since: number): End {
  const later = entries.slice(entries.findIndex(({ at, event }) => event === 'gap' && at === since) + 1)
  const filled = later.find(({ event }) => event === 'gapFilled' || event === 'sealed')
  if (filled !== undefined) {
    const by = filled.event === 'gapFilled' ? 'a no-op' : `transaction ${filled.history?.id}`
    return { state: 'mended', ended: `Filled by ${by}`, endedAt: filled.at }
  }
  const foreign = later.find(({ event }) => event === 'foreign')
  if (foreign) return { state: 'mended', ended: 'Used by a foreign transaction', endedAt: foreign.at }
  return open('Not filled by the end')
}
