import type { EventName } from '../read/event.js'
import type { History } from './history.js'

/** Kinds of problems in the table. */
export type ProblemKind =
  | Exclude<
      EventName,
      'queued' | 'signed' | 'accepted' | 'preconfirmed' | 'sealed' | 'released' | 'endpoint' | 'leaseGained'
    >
  | 'endpointDown'
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

/** Description of each kind. */
export const PROBLEMS: Readonly<Record<ProblemKind, Description>> = {
  foreign: { role: 'fault', what: 'A foreign transaction used the nonce' },
  displaced: { role: 'fault', what: 'A node has another transaction at the nonce' },
  gap: { role: 'fault', what: 'A nonce below used ones was empty' },
  gapFilled: { role: 'repair', what: 'A no-op used up the nonce' },
  reorged: { role: 'fault', what: 'Its block left the chain' },
  deepReorg: { role: 'fault', what: 'A settled block left the chain' },
  corrected: { role: 'fault', what: 'A wrong report about this nonce was corrected' },
  rebound: { role: 'fault', what: 'It lost its nonce to foreign transactions more than once' },
  unresolved: { role: 'fault', what: 'It is unknown which transaction used the nonce' },
  stuck: { role: 'fault', what: 'It is not included although blocks are made' },
  feeCeiling: { role: 'fault', what: 'It reached its fee ceiling' },
  rebroadcast: { role: 'repair', what: 'It was sent again' },
  waiting: { role: 'fault', what: 'It waits for an operator' },
  reordered: { role: 'fault', what: 'Its preparation was delayed: later transactions overtook it' },
  replaced: { role: 'asked', what: 'The caller replaced it' },
  reverted: { role: 'fault', what: 'It was executed and reverted' },
  failed: { role: 'fault', what: 'It ended without being executed' },
  cancelled: { role: 'asked', what: 'The caller cancelled it' },
  superseded: { role: 'asked', what: 'Its replacement took the nonce' },
  held: { role: 'fault', what: 'The lane reserved no nonces' },
  endpointDown: { role: 'fault', what: 'An endpoint did not answer, or lagged' },
  wrongChain: { role: 'fault', what: 'An endpoint showed another chain' },
  leaseLost: { role: 'fault', what: 'Another process took the lane' },
  error: { role: 'fault', what: 'An error outside of any call' },
  dropped: { role: 'fault', what: "Events are missing: the recorder's buffer was full" },
  torn: { role: 'fault', what: 'A line of the recording was cut off' },
  cutOff: { role: 'fault', what: 'The recording was not closed' },
}
