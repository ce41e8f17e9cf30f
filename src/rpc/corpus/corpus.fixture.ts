import type { SendOutcome, SendReason } from '../outcome.js'

/** One message, word for word as the client fills it in, and what it means. */
export type Said = Pick<SendOutcome, 'outcome' | 'reason' | 'counted' | 'expectedNonce' | 'retryAfterMs'> & {
  readonly message: string
  /** Where it is not the code of the whole corpus. */
  readonly code?: number
  readonly data?: unknown
}

/** What the classifier must answer, and nothing beside it. */
export const answerOf = ({ outcome, reason, counted, expectedNonce, retryAfterMs }: Said) => ({
  outcome,
  reason,
  counted,
  ...(expectedNonce === undefined ? {} : { expectedNonce }),
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

/** An outcome without the numbers that a message states of fees and nonces: `priceHints.test.ts` has those. */
export function meaningOf({
  needs,
  nonceMax,
  ...meaning
}: SendOutcome): Omit<SendOutcome, 'needs' | 'nonceMax'> {
  return meaning
}

/** What one client says, by the file that it was read in. */
export type ClientCorpus = {
  readonly client: string
  /** The JSON-RPC code, where a message brings no other. */
  readonly code: number
  readonly said: Readonly<Record<string, readonly Said[]>>
  /** The reasons that it has no words for, and why. "Not found" is not "never". */
  readonly silent: Partial<Record<NodeReason, string>>
}

/** What a node may answer a send with. Rate limits are the endpoint's in front of it. */
export const NODE_REASONS = [
  'alreadyKnown',
  'nonceTooLow',
  'nonceTooHigh',
  'replacementUnderpriced',
  'feeTooLow',
  'insufficientFunds',
  'gasLimit',
  'poolFull',
  'delegatedLimit',
  'feeCapExceeded',
  'notReady',
  'syncTimeout',
  'invalid',
] as const satisfies readonly SendReason[]
export type NodeReason = (typeof NODE_REASONS)[number]

type More = Pick<Said, 'code' | 'data' | 'expectedNonce' | 'retryAfterMs'>

const said =
  (outcome: SendOutcome['outcome'], counted = false) =>
  (reason: SendReason, message: string, more: More = {}): Said => ({
    outcome,
    reason,
    counted,
    message,
    ...more,
  })

export const accepted = said('accepted')
export const refused = said('refused')
export const counted = said('refused', true)
export const intrinsic = said('intrinsic')
/** What must not be taken for more than it is. */
export const unclear = said('unknown')

export const HASH = '0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960'
export const SENDER = '0x336394A3219e71D9d9bd18201d34E95C1Bb7122C'
