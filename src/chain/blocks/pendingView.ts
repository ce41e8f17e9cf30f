import type { Hash } from 'viem'
import type { LightHeader } from '../../rpc/codec.js'

/**
 * A pending block's hashes. Those from the index `from` on were added since the last poll of the same block.
 */
export type Added = { readonly number: number; readonly hashes: readonly Hash[]; readonly from: number }

/** The pending block as polls have shown it, so that each of its hashes is looked up once. */
export type PendingView = {
  /** Undefined if the block is not above the head: it is a stale answer, and pre-confirms nothing. */
  added(block: LightHeader, head: number): Added | undefined
  /** The next poll reports all hashes again. */
  forget(): void
}

const NOTHING_SEEN = { number: -1, count: 0, last: undefined as Hash | undefined }

export function createPendingView(): PendingView {
  let seen = NOTHING_SEEN
  return {
    added({ number: named, hashes }, head) {
      const number = named ?? head + 1
      if (number <= head) return undefined
      const isSame = number === seen.number && hashes[seen.count - 1] === seen.last && seen.count > 0
      const from = isSame ? seen.count : 0
      seen = { number, count: hashes.length, last: hashes[hashes.length - 1] }
      return { number, hashes, from }
    },
    forget() {
      seen = NOTHING_SEEN
    },
  }
}
