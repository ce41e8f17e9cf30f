import { type Address, type Hex, stringToHex } from 'viem'
import type { Fate, TxlaneErrorCode } from '../../src/errors/base.js'

/**
 * What the user of a sweep wants. `reverted` executes and reverts; `refused` fails before it is sent; `allocated` is
 * signed and sent by the user himself, at a nonce of `createNonceAllocator`; `returned` is a nonce that is given back.
 */
export const KINDS = [
  'plain',
  'reverted',
  'refused',
  'cancel',
  'replace',
  'speedUp',
  'expires',
  'allocated',
  'returned',
] as const

export type Ask = {
  readonly id: string
  readonly kind: (typeof KINDS)[number]
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

// Code is put there before the sweep begins: whatever calls it reverts.
export const REVERTER: Address = `0x${'e7'.repeat(20)}`
export const REVERTER_CODE: Hex = '0x60006000fd'
const SINK: Address = `0x${'51'.repeat(20)}`

/** The id of what takes the place of an ask of the kind `replace`. */
export const replacementOf = (id: string): string => `${id}-instead`

/** No two ids have the same one: it is how a transaction is known again on the chain. */
export const dataOf = (id: string): Hex => stringToHex(id)

export function targetOf({ kind }: Pick<Ask, 'kind'>): Address {
  return kind === 'reverted' || kind === 'refused' ? REVERTER : SINK
}

/** What a life was told, and what it told of itself. Each is a line of JSON. */
export type Tell =
  /** Its code is loaded. */
  | { readonly tell: 'begun' }
  /** The lane is its own. */
  | { readonly tell: 'open' }
  /** An endpoint took something: for the measurement only. */
  | { readonly tell: 'works' }
  /** `send` resolved; or, for `allocated`, `commit` did. */
  | { readonly tell: 'kept'; readonly id: string }
  | {
      readonly tell: 'sealed'
      readonly id: string
      readonly hash: Hex
      readonly nonce: number
      readonly status: string
    }
  | {
      readonly tell: 'failed'
      readonly id: string
      readonly code: TxlaneErrorCode
      readonly fate: Fate
      readonly message: string
    }
  | {
      readonly tell: 'cancelled'
      readonly id: string
      readonly result: 'removed' | 'cancelled' | 'tooLate'
    }
  /** It is about to end itself. */
  | { readonly tell: 'ends'; readonly point: string }
  /** It asks to be ended, and goes on. */
  | { readonly tell: 'end me'; readonly point: string }
  /** Something that is no answer to any ask. */
  | { readonly tell: 'trouble'; readonly message: string }
  /** All that was asked for has an answer, and everything is closed. */
  | { readonly tell: 'done' }

/** What a life is given, on its standard input. */
export type LifeOrder = {
  readonly url: string
  readonly chainId: number
  readonly blockTimeMs: number
  /** Of the devnet's accounts, which everybody knows. */
  readonly account: number
  readonly store:
    | { readonly kind: 'memory' }
    | { readonly kind: 'sqlite'; readonly path: string }
    | { readonly kind: 'postgres'; readonly connectionString: string; readonly schema: string }
  readonly asks: readonly DatedAsk[]
  /** Where it ends itself: at which pass of which point. */
  readonly end: { readonly point: string; readonly pass: number } | undefined
  /** It closes then, whatever is open; otherwise once all that was asked for has an answer. */
  readonly closeAfterMs: number | undefined
}
