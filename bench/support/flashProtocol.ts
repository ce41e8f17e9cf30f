import type { Hex } from 'viem'

/** Each is answered with a number. */
export type Order =
  /** When this transaction was first in a block, sealed or not: milliseconds of `sharedNowMs`. Undefined: not yet. */
  | { readonly type: 'visible'; readonly hash: Hex }
  /** How many polls have come since the last time. */
  | { readonly type: 'polls' }

/** What comes of the start. */
export type Urls = {
  /** Behind a proxy that counts. */
  readonly url: string
  /** Past the proxy. */
  readonly directUrl: string
}

/** Of the monotonic clock that all processes of the machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
