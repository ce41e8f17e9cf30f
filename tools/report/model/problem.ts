import type { EventName } from '../read/event.js'
import type { History } from './history.js'

/** Kinds of problems in the table. */
export type ProblemKind =
  | Exclude<
      EventName,
      'queued' | 'signed' | 'accepted' | 'preconfirmed' | 'sealed' | 'released' | 'endpoint' | 'leaseGained'
    >
  | 'endpointDown'
  | 'paused'
  | 'aborted'
  | 'wrongChain'
  | 'dropped'
  | 'torn'
  | 'cutOff'

/**
 * `mended`: the normal state is restored. `ended`: the transaction ended without execution, or its execution
 * failed. `reported`: reported once, with no further event expected. `open`: no later event until the end of the
 * recording.
 */
export type ProblemState = 'mended' | 'ended' | 'reported' | 'open'

export type Problem = {
  readonly kind: ProblemKind
  readonly at: number
  /** Number of events for this transaction, or with this message. */
  times: number
  readonly lane: string | undefined
  readonly nonce: number | undefined
  readonly history: History | undefined
  readonly what: string
  state: ProblemState
  ended: string
  endedAt: number | undefined
}

/** A fault, a repair, or a request of the caller. It chooses the mark in the chart. */
export type ProblemRole = 'fault' | 'repair' | 'asked'

type Description = { readonly role: ProblemRole; readonly what: string }

/** Description of each kind. Within a role, the most serious kind is first. */
export const PROBLEMS: Readonly<Record<ProblemKind, Description>> = {
  deepReorg: { role: 'fault', what: 'A settled block left the chain' },
  unresolved: { role: 'fault', what: 'It is unknown which transaction used the nonce' },
  corrected: { role: 'fault', what: 'A wrong report about this nonce was corrected' },
  failed: { role: 'fault', what: 'It ended without being executed' },
  reverted: {
    role: 'fault',
    what: 'It was executed and reverted, as a receipt shows that a caller waited for',
  },
  wrongChain: { role: 'fault', what: 'An endpoint showed another chain' },
  stuck: {
    role: 'fault',
    what: 'Blocks passed without it: an endpoint had another transaction at its nonce',
  },
  feeCeiling: { role: 'fault', what: 'Blocks passed without it, and its fees may not rise further' },
  gap: { role: 'fault', what: 'A nonce below used ones was empty' },
  foreign: { role: 'fault', what: 'A foreign transaction used the nonce' },
  rebound: { role: 'fault', what: 'It lost its nonce to foreign transactions more than once' },
  waiting: { role: 'fault', what: 'It waits for an operator' },
  held: { role: 'fault', what: 'The lane reserved no nonces' },
  leaseLost: { role: 'fault', what: 'Another process took the lane' },
  displaced: { role: 'fault', what: 'An endpoint had another transaction at the nonce' },
  reorged: { role: 'fault', what: 'Its block left the chain' },
  error: { role: 'fault', what: 'An error outside of any call' },
  endpointDown: { role: 'fault', what: 'An endpoint did not answer, or lagged' },
  dropped: { role: 'fault', what: "Events are missing: the recorder's buffer was full" },
  torn: { role: 'fault', what: 'A line of the recording was cut off' },
  cutOff: { role: 'fault', what: 'The recording was not closed' },
  reordered: { role: 'fault', what: 'Its preparation was delayed: later transactions overtook it' },
  gapFilled: { role: 'repair', what: 'A no-op used up the nonce' },
  rebroadcast: { role: 'repair', what: 'It was sent again' },
  cancelled: { role: 'asked', what: 'The caller cancelled it' },
  replaced: { role: 'asked', what: 'The caller replaced it' },
  superseded: { role: 'asked', what: 'Its replacement took the nonce' },
  aborted: { role: 'asked', what: "The caller's signal aborted it before it was sent" },
  paused: { role: 'asked', what: 'The caller paused the lane' },
}
