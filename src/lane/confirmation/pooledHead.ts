import type { Book } from '../../ledger/book.js'
import type { Live, Slot } from '../../ledger/slot.js'
import type { Limits } from '../../types/index.js'
import type { SendTime, SendTimes } from './sendTimes.js'

type PooledHeadParts = {
  readonly book: Pick<Book, 'floor' | 'coveredTo' | 'get'>
  readonly times: Pick<SendTimes, 'now' | 'of'>
  readonly limits: Pick<Limits, 'stuckAfterBlocks' | 'stuckAfterMs'>
  /** The offer covers the base fee. */
  readonly priced: (slot: Live) => boolean
}

/**
 * If a pool has the head, it may have a reason to wait, such as a queue of transactions that pay more. The
 * head then gets this multiple of the blocks that a head in no pool gets.
 */
const POOLED_PATIENCE = 4

/** Finds a head that a pool counts and whose price is too low. */
export function createPooledHead({ book, times, limits, priced }: PooledHeadParts): () => readonly Slot[] {
  // The transaction that the next block could include and that a pool has: its last send, and the time since
  // which it is the next one.
  let pooled: { nonce: number; sent: SendTime | undefined; from: SendTime } | undefined

  /**
   * The next transaction that a block could include, if a pool counts it and its price is too low: it is
   * below the base fee, or blocks preferred others. All higher nonces wait for it. For another sender's
   * transaction only the blocks show that.
   */
  return () => {
    const slot = book.floor < book.coveredTo ? book.get(book.floor) : undefined
    const isOpen = slot?.state === 'outside' || (slot?.state === 'live' && slot.preconfirmed === undefined)
    if (!isOpen) {
      pooled = undefined
      return []
    }
    const { nonce } = slot
    const sent = times.of(nonce)
    const { block, atMs } = times.now()
    // A head that is lower than before shows nothing about the contents of blocks.
    if (pooled?.nonce !== nonce || pooled.sent !== sent || block < pooled.from.block)
      pooled = { nonce, sent, from: times.now() }
    const hasWaited =
      block - pooled.from.block >= POOLED_PATIENCE * limits.stuckAfterBlocks &&
      atMs - pooled.from.atMs >= POOLED_PATIENCE * limits.stuckAfterMs
    return hasWaited || (slot.state === 'live' && !priced(slot)) ? [slot] : []
  }
}
