import type { Hex } from 'viem'
import type { Fault } from './fault.js'

/** Orders; each is answered with a number, or with undefined. */
export type Order =
  /**
   * Time at which this transaction first was in a block, sealed or not, in `sharedNowMs`; undefined before
   * that.
   */
  | { readonly type: 'visible'; readonly hash: Hex }
  /** Number of polls since the last order. */
  | { readonly type: 'polls' }
  /** The fault hits the next request with a send. */
  | { readonly type: 'arm'; readonly fault: Fault }
  /** Time of the hit, in the same milliseconds; undefined before it. */
  | { readonly type: 'struck' }

/** Result of the start. */
export type Urls = {
  /** URL of the proxy that counts. */
  readonly url: string
  /** URL without the proxy. */
  readonly directUrl: string
}
