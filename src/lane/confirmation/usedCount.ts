import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { concernsCaller } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits } from '../../types/index.js'
import { contradiction, createCountBelief } from './countBelief.js'
import { createJumpHold } from './jumpHold.js'
import { shownByBlocks } from './shownByBlocks.js'

type UsedCountContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'doubtReader' | 'others' | 'tracker'>
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly closed: boolean
}

/** The account's `latest` count, and the decision whether to believe it without a body that explains it. */
export type UsedCount = {
  /** The newest `latest` count that bodies do not contradict. */
  readonly newest: number
  /** Takes the count of a tick. Returns it, or the higher count that walked blocks show. */
  note(claimed: number, head: number): number
  /** Bodies show that the account has used only this many nonces. */
  refuted(shown: number): void
  /**
   * The count up to which nonces are believed to be used, without evidence for this nonce; undefined while
   * that is not known.
   */
  believed(nonce: number, head: number): Promise<number | undefined>
  /**
   * A node answered "nonce too low", and the count does not confirm it. Another endpoint may count
   * transactions that this one lacks.
   */
  compareHigher(count: number): Promise<void>
  /** The jump is explained. */
  liftJump(): void
  /** An operator accepts a jump: all nonces below the count are treated as used. */
  acceptJump(): void
}

export function createUsedCount(context: UsedCountContext): UsedCount {
  const { lane, endpointPool, clock, limits } = context
  const { book } = lane
  const { address } = lane.key
  const belief = createCountBelief({ clock, endpointPool, address, timeoutMs: limits.readTimeoutMs })
  const jump = createJumpHold(context, belief)
  let newest = 0

  /** If the nonce at the floor concerns a caller, only its own evidence decides, and no block above it. */
  function shownAboveFloor(): number {
    return book.floor === book.cursor || concernsCaller(book.get(book.floor)) ? 0 : shownByBlocks(context)
  }

  /**
   * If another endpoint counts less and this one shows no evidence, the other endpoint may be the better one
   * to read from.
   */
  async function isConfirmed(count: number, head: number): Promise<boolean> {
    if (!belief.confirms(count, head)) return false
    const lower = await belief.lowerElsewhere(count)
    if (lower !== undefined) endpointPool.doubtReader(contradiction(count, lower))
    return lower === undefined
  }

  return {
    get newest() {
      return newest
    },
    note(claimed, head) {
      newest = Math.max(claimed, shownAboveFloor())
      if (newest <= book.floor) belief.forget()
      jump.count(newest, head)
      return newest
    },
    refuted(shown) {
      newest = shown
      belief.forget()
      jump.refuted(shown)
    },
    async believed(nonce, head) {
      const shown = shownAboveFloor()
      if (shown > nonce) return shown
      const count = newest
      if (jump.isHeld || !(await isConfirmed(count, head))) return undefined
      // A different count from a later tick needs a confirmation of its own.
      return newest === count ? count : undefined
    },
    async compareHigher(count) {
      const higher = await belief.higherElsewhere(count)
      if (higher !== undefined && book.floor < higher) endpointPool.doubtReader(contradiction(count, higher))
    },
    liftJump: jump.lift,
    acceptJump: jump.accept,
  }
}
