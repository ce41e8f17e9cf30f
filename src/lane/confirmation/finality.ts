import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits } from '../../types/index.js'
import { createDeepReorgs } from './deepReorgs.js'
import { finalUpTo, settledUpTo } from './depth.js'
import type { FinalityIndex } from './finalityIndex.js'
import { createSpotCheck } from './spotCheck.js'
import { createWitnessCheck } from './witnessCheck.js'

export type FinalityContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<
    EndpointPool,
    'chainId' | 'doubtReader' | 'others' | 'reader' | 'tracker' | 'turns'
  >
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly lossDepth: 'child' | 'safe' | number
  readonly signatures: Signatures
  readonly closing: AbortSignal
  readonly closed: boolean
}

type FinalityParts = {
  readonly context: FinalityContext
  /** Nonces that were used in blocks which the walk has not seen. */
  readonly unverifiedNonces: Set<number>
  readonly finalityIndex: FinalityIndex
}

/**
 * Applies verdicts to used nonces as their blocks become deep enough, and revokes uses whose blocks leave.
 */
export type Finality = {
  advance(head: number): Promise<void>
  /** A block joined the chain. */
  joined(block: BlockRef): void
  /** A block left the chain. */
  left(block: BlockRef): void
  /** A verdict waits for the second reading of a witness. */
  readonly wanted: boolean
}

export function createFinality({ context, unverifiedNonces, finalityIndex }: FinalityParts): Finality {
  const { lane, endpointPool, clock } = context
  const { book } = lane
  const { tracker, turns } = endpointPool
  const spots = createSpotCheck(context, (nonce, block, isOnChain) => {
    if (isOnChain || reorgedOut(nonce, block) === false) unverifiedNonces.delete(nonce)
  })
  const witnesses = createWitnessCheck(context)
  const deepReorgs = createDeepReorgs(context)

  /**
   * Whether the block that used a nonce is on the chain; undefined while that is not known. A block that was
   * read from the store, or found by evidence, may lie below the start of the walk, and may have left while
   * no process followed the chain.
   */
  function isCanonical(nonce: number): boolean | undefined {
    const slot = book.get(nonce)
    if (slot?.state !== 'used' || slot.at === undefined || slot.at.number < 0) return true
    const walked = tracker.hashAt(slot.at.number)
    if (walked === slot.at.hash) return true
    if (walked !== undefined) return reorgedOut(nonce, slot.at)
    // The walk has seen the block, and the block stayed on the chain as long as blocks are kept.
    if (!unverifiedNonces.has(nonce)) return true
    if (!tracker.reach(slot.at.number)) spots.ask(nonce, slot.at)
    return undefined
  }

  /**
   * Applies that `block` has left, and returns false. A settled block had further blocks above it, which the
   * previous lease owner may have seen. If an endpoint shows another block at the same number, but not as
   * many blocks above it, the endpoint may lag on a branch that the chain has left since. The function then
   * returns undefined.
   */
  function reorgedOut(nonce: number, block: BlockRef): false | undefined {
    const slot = book.get(nonce)
    const isSettled = slot?.state === 'used' && slot.settled
    const head = tracker.head?.number ?? -1
    if (isSettled && block.number <= head && block.number > settledUpTo(context, head)) return undefined
    deepReorgs.left(nonce, block)
    return false
  }

  return {
    async advance(head) {
      for (const nonce of unverifiedNonces)
        if (isCanonical(nonce) !== undefined) unverifiedNonces.delete(nonce)
      await turns.each(book.dueForVerdict(settledUpTo(context, head)), (nonce) => {
        if (isCanonical(nonce) === true && witnesses.confirmed(nonce))
          lane.apply(nonce, { type: 'lossDepth' })
      })
      const horizon = finalUpTo(context, head)
      const isWalked = (nonce: number) => !unverifiedNonces.has(nonce)
      finalityIndex.advance(tracker.tag('safe'), tracker.tag('finalized'), horizon, isWalked, clock)
      await turns.each(book.dueForHorizon(horizon), (nonce) => {
        if (!unverifiedNonces.has(nonce)) lane.apply(nonce, { type: 'horizon' })
      })
    },
    joined: deepReorgs.came,
    left(block) {
      for (const nonce of book.usedIn(block.hash))
        if (reorgedOut(nonce, block) === undefined) unverifiedNonces.add(nonce)
    },
    get wanted() {
      return witnesses.wanted
    },
  }
}
