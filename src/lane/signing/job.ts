import type { Fees } from '../../ledger/fees.js'
import type { Content } from './envelope.js'

export type JobKind = 'claim' | 'noop' | 'bump'

/** A signature that the table has requested. */
export type Job = {
  readonly kind: JobKind
  readonly nonce: number
  readonly token: number
  /** The signature is done. */
  isSigned: boolean
} & (
  | { readonly kind: 'claim'; readonly claim: string }
  | { readonly kind: 'noop' }
  | { readonly kind: 'bump'; readonly replacementRejections: number }
)

export type JobOf<kind extends JobKind> = Extract<Job, { kind: kind }>

/** The content and fees to sign, for a transaction or a no-op. */
export type SignOrder = {
  readonly claim: string | undefined
  readonly content: Content
  readonly offer: Fees
}
