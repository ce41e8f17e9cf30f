import type { SendOutcome, SendReason } from '../outcome.js'

/** One message, word for word as the client fills it in, and its meaning. */
export type Said = Pick<SendOutcome, 'outcome' | 'reason' | 'counted' | 'expectedNonce' | 'retryAfterMs'> & {
  readonly message: string
  /** The code, if it differs from the code of the whole corpus. */
  readonly code?: number
  readonly data?: unknown
}

/** The exact answer that the classifier must give. */
export const answerOf = ({ outcome, reason, counted, expectedNonce, retryAfterMs }: Said) => ({
  outcome,
  reason,
  counted,
  ...(expectedNonce === undefined ? {} : { expectedNonce }),
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

/** An outcome without the numbers for fees and nonces in a message, which `priceHints.test.ts` covers. */
export function meaningOf({
  needs,
  nonceMax,
  ...meaning
}: SendOutcome): Omit<SendOutcome, 'needs' | 'nonceMax'> {
  return meaning
}

/** The messages of one client, by the file in which they were read. */
export type ClientCorpus = {
  readonly client: string
  /** The JSON-RPC code of messages without a code of their own. */
  readonly code: number
  readonly said: Readonly<Record<string, readonly Said[]>>
  /**
   * The reasons for which the client has no message, with an explanation. "Not found" does not mean "never".
   */
  readonly silent: Partial<Record<NodeReason, string>>
}

/** The reasons that a node's answer to a send may have. Rate limits come from the endpoint in front of it. */
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
/** A message that must not be classified as anything else. */
export const unclear = said('unknown')

export const HASH = '0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960'
export const SENDER = '0x336394A3219e71D9d9bd18201d34E95C1Bb7122C'
