import type { Answer, Trouble } from '../sweep/answers.js'
import type { Wanted } from '../sweep/asks.js'
import type { ChainSettings, StoreSettings } from '../sweep/settings.js'

export type Ask = Wanted & {
  readonly until: 'queued' | 'accepted'
  /** Milliseconds after the start of the life. */
  readonly delayMs: number
  /** Milliseconds from the answer of `send` to the cancel, the replacement or the bump. */
  readonly actAfterMs: number
  /** For `expires`: milliseconds after the first request. */
  readonly expiresAfterMs: number
}

/** The same ask, with the wall time at which the user first requested it. */
export type DatedAsk = Ask & { readonly firstAskedAtMs: number }

/** A line of JSON on standard output: an answer that the life received, or a report about itself. */
export type Report =
  /** Its code is loaded. */
  | { readonly report: 'begun' }
  /** The life owns the lane. */
  | { readonly report: 'open' }
  /** An endpoint accepted a transaction. Used only for the measurement. */
  | { readonly report: 'works' }
  | Answer
  /** The life is about to end itself. */
  | { readonly report: 'ends'; readonly point: string }
  /** The life requests to be killed, and continues. */
  | { readonly report: 'end me'; readonly point: string }
  | Trouble
  /** Every ask has an answer, and everything is closed. */
  | { readonly report: 'done' }

/** The input of a life, on its standard input. */
export type LifeOrder = ChainSettings & {
  /** Index of one of the devnet's accounts, whose keys are public. */
  readonly account: number
  readonly store: { readonly kind: 'memory' } | StoreSettings
  readonly asks: readonly DatedAsk[]
  /** The point, and its pass, at which the life ends itself. */
  readonly end: { readonly point: string; readonly pass: number } | undefined
  /** The life closes then, even with open asks; otherwise once every ask has an answer. */
  readonly closeAfterMs: number | undefined
}
