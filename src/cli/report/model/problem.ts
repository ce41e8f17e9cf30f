import type { EventName } from '../read/event.js'
import type { History } from './history.js'

/** What goes into the table of what went wrong. */
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
 * `mended`: it is as it should be again. `ended`: the transaction ended without execution, or failed in it. `told`: there
 * is nothing to come after it. `open`: nothing was told of it until the end of the recording.
 */
export type ProblemState = 'mended' | 'ended' | 'told' | 'open'

export type Problem = {
  readonly kind: ProblemKind
  readonly at: number
  /** How often it was told of this transaction, or in these words. */
  times: number
  readonly lane: string | undefined
  readonly nonce: number | undefined
  readonly history: History | undefined
  readonly what: string
  state: ProblemState
  ended: string
  endedAt: number | undefined
}

/** Something is wrong, is being put right, or was asked for by the caller. It chooses the mark in the chart. */
export type ProblemRole = 'fault' | 'repair' | 'asked'

type Told = { readonly role: ProblemRole; readonly what: string }

/** What each kind means, in words. */
export const PROBLEMS: Readonly<Record<ProblemKind, Told>> = {
  foreign: { role: 'fault', what: 'Something that was not sent here used the nonce' },
  displaced: { role: 'fault', what: 'A node holds something else at the nonce' },
  gap: { role: 'fault', what: 'A nonce below others was left empty' },
  gapFilled: { role: 'repair', what: 'A no-op used up the nonce' },
  reorged: { role: 'fault', what: 'Its block left the chain' },
  deepReorg: { role: 'fault', what: 'A block that counted as settled left the chain' },
  corrected: { role: 'fault', what: 'What was reported of this nonce was wrong, and was corrected' },
  rebound: { role: 'fault', what: 'It lost its nonce to something else more than once' },
  unresolved: { role: 'fault', what: 'Nobody can tell what used the nonce' },
  stuck: { role: 'fault', what: 'It stands still although blocks go by' },
  feeCeiling: { role: 'fault', what: 'It stands at its fee ceiling' },
  rebroadcast: { role: 'repair', what: 'It was sent again' },
  waiting: { role: 'fault', what: 'It waits for a person' },
  reordered: { role: 'fault', what: 'It could not be prepared at once: later ones went before it' },
  replaced: { role: 'asked', what: 'The caller replaced it' },
  reverted: { role: 'fault', what: 'It executed and reverted' },
  failed: { role: 'fault', what: 'It ended without being executed' },
  cancelled: { role: 'asked', what: 'The caller cancelled it' },
  superseded: { role: 'asked', what: 'Its replacement took the nonce' },
  held: { role: 'fault', what: 'The lane reserved no nonces' },
  endpointDown: { role: 'fault', what: 'An endpoint did not answer, or lagged' },
  wrongChain: { role: 'fault', what: 'An endpoint showed another chain' },
  leaseLost: { role: 'fault', what: 'Another process took the lane' },
  error: { role: 'fault', what: 'An error that nobody waited for' },
  dropped: { role: 'fault', what: 'Events are missing: the recorder had no room' },
  torn: { role: 'fault', what: 'A line of the recording was cut off' },
  cutOff: { role: 'fault', what: 'The recording was not closed' },
}
