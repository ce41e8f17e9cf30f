import type { Hex } from 'viem'
import type { Fault } from './fault.js'

/** Each is answered with a number, or with none. */
export type Order =
  /** When this transaction was first in a block, sealed or not: milliseconds of `sharedNowMs`. Undefined: not yet. */
  | { readonly type: 'visible'; readonly hash: Hex }
  /** How many polls have come since the last time. */
  | { readonly type: 'polls' }
  /** The next request that sends is struck by it. */
  | { readonly type: 'arm'; readonly fault: Fault }
  /** When it was, in the same milliseconds. Undefined: not yet. */
  | { readonly type: 'struck' }

/** What comes of the start. */
export type Urls = {
  /** Behind a proxy that counts. */
  readonly url: string
  /** Past the proxy. */
  readonly directUrl: string
}
