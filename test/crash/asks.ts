import type { Answer, Trouble } from '../sweep/answers.js'
import type { Wanted } from '../sweep/asks.js'
import type { ChainSettings, StoreSettings } from '../sweep/settings.js'

export type Ask = Wanted & {
  readonly until: 'queued' | 'accepted'
  /** From the start of the life. */
  readonly delayMs: number
  /** From the answer of `send` to the cancel, the replacement, the bump. */
  readonly actAfterMs: number
  /** For `expires`: from the first time that it is asked for. */
  readonly expiresAfterMs: number
}

/** The same ask, with the wall time that the user fixed when he first asked. */
export type DatedAsk = Ask & { readonly firstAskedAtMs: number }

/** What a life was told, and what it told of itself. Each is a line of JSON. */
export type Tell =
  /** Its code is loaded. */
  | { readonly tell: 'begun' }
  /** The lane is its own. */
  | { readonly tell: 'open' }
  /** An endpoint took something: for the measurement only. */
  | { readonly tell: 'works' }
  | Answer
  /** It is about to end itself. */
  | { readonly tell: 'ends'; readonly point: string }
  /** It asks to be ended, and goes on. */
  | { readonly tell: 'end me'; readonly point: string }
  | Trouble
  /** All that was asked for has an answer, and everything is closed. */
  | { readonly tell: 'done' }

/** What a life is given, on its standard input. */
export type LifeOrder = ChainSettings & {
  /** Of the devnet's accounts, which everybody knows. */
  readonly account: number
  readonly store: { readonly kind: 'memory' } | StoreSettings
  readonly asks: readonly DatedAsk[]
  /** Where it ends itself: at which pass of which point. */
  readonly end: { readonly point: string; readonly pass: number } | undefined
  /** It closes then, whatever is open; otherwise once all that was asked for has an answer. */
  readonly closeAfterMs: number | undefined
}
