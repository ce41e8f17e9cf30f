import type { Hex } from 'viem'

export type Order =
  /** When this transaction was first in a block, sealed or not. */
  | { readonly type: 'visible'; readonly hash: Hex }
  /** How many polls have come since the last time. */
  | { readonly type: 'polls' }

export type Answer =
  | { readonly type: 'ready'; readonly url: string; readonly directUrl: string }
  /** Milliseconds of the system's monotonic clock, which all processes share. */
  | { readonly type: 'visible'; readonly atMs: number | undefined }
  | { readonly type: 'polls'; readonly count: number }

/** Of the clock that all processes of the machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
