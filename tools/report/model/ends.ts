import type { ReportEvent } from '../read/event.js'
import type { NonceEntry } from './book.js'
import { type Entry, type History, isSealed } from './history.js'
import type { Problem, ProblemKind } from './problem.js'
import { errorText } from './words.js'

export type End = Pick<Problem, 'state' | 'ended' | 'endedAt'>

const reported = (ended = ''): End => ({ state: 'reported', ended, endedAt: undefined })
const open = (ended: string): End => ({ state: 'open', ended, endedAt: undefined })

/** The end of a problem that began with this event, according to the transaction's history. */
export function endOf(kind: ProblemKind, event: ReportEvent, history: History | undefined): End {
  switch (kind) {
    case 'failed':
    case 'aborted':
    case 'cancelled':
    case 'superseded':
      if (history?.outcome !== kind) return sentAgain(history)
      return { state: 'ended', ended: reasonOf(event), endedAt: event.at }
    case 'reverted':
      return afterRevert(event, history)
    case 'error':
      return reported(event.error?.code === undefined ? '' : reasonOf(event))
    case 'leaseLost':
      return reported('This process continued as a standby')
    case 'gapFilled':
      return { state: 'mended', ended: 'The nonce is used', endedAt: event.at }
    case 'held':
    case 'paused':
      return open('Not released by the end of the recording')
    case 'endpointDown':
    case 'wrongChain':
      return open('Not back by the end of the recording')
    default:
      return history === undefined ? withoutTransaction(kind) : afterwards(history, event)
  }
}

function withoutTransaction(kind: ProblemKind): End {
  return kind === 'foreign' ? reported('No transaction of this sender had the nonce') : reported()
}

/** An id that ended may be sent again: the end is that of the later run. */
function sentAgain(history: History | undefined): End {
  if (history === undefined) return reported()
  if (!isSealed(history)) return open(`Sent again with the same id, and ${OUTCOMES[history.outcome]}`)
  const at = history.entries.findLast(({ event }) => event === 'sealed')?.at
  return { state: 'mended', ended: `Sent again with the same id, and ${history.outcome}`, endedAt: at }
}

/** A reorg may remove the block, and the transaction may then succeed in another one. */
function afterRevert(event: ReportEvent, history: History | undefined): End {
  if (history?.outcome === 'sealed') {
    const at = history.entries.findLast((entry) => entry.event === 'sealed')?.at
    return { state: 'mended', ended: 'That block left the chain, and it was sealed in another', endedAt: at }
  }
  if (history?.outcome === 'open') return open('That block left the chain, and no later one had it')
  return { state: 'ended', ended: 'Executed, and not sent again', endedAt: event.at }
}

const OUTCOMES: Readonly<Record<History['outcome'], string>> = {
  sealed: 'sealed',
  reverted: 'reverted',
  failed: 'failed',
  aborted: 'aborted by the caller',
  cancelled: 'cancelled',
  superseded: 'superseded by its replacement',
  unresolved: 'unresolved',
  open: 'not finished by the end of the recording',
}

function reasonOf({ error }: ReportEvent): string {
  return error === undefined ? '' : errorText(error)
}

/** The next event that decides the transaction's outcome. */
function afterwards(history: History, { at, event, nonce }: ReportEvent): End {
  const from = history.entries.findIndex((entry) => entry.at === at && entry.event === event)
  const next = history.entries.slice(from + 1).find(decides)
  if (next === undefined) return open('Not finished by the end of the recording')
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
  return open('Not filled by the end of the recording')
}
