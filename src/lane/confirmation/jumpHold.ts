import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { createOneAtATime } from '../../platform/oneAtATime.js'
import type { Repeats } from '../../platform/repeats.js'
import { type CountBelief, contradiction } from './countBelief.js'

/**
 * The hold of a lane whose account seems to have used many more nonces than the lane knows of. The lane is
 * held when the count was read twice and no other endpoint counts less. The hold lifts when the count is
 * explained or refuted, or is no longer reported.
 */
export type JumpHold = {
  /** The `latest` count that a tick has read. */
  count(latest: number, head: number): void
  /** Bodies show that the account has used only this many nonces. */
  refuted(shown: number): void
  /** The use of the nonces is explained. */
  lift(): void
  /** An operator accepts the count: all nonces below it are treated as used. */
  accept(): void
  readonly isHeld: boolean
}

/**
 * If more nonces than this are used at once without this lane, the cause is hardly one more wallet with the
 * key. An operator should look at it.
 */
export const JUMP_MAX = 64

export function createJumpHold(
  context: {
    readonly lane: Lane
    readonly endpointPool: Pick<EndpointPool, 'doubtReader'>
    readonly errors: Repeats<Error>
    readonly closed: boolean
  },
  belief: CountBelief,
): JumpHold {
  const { lane, endpointPool } = context
  const { book } = lane
  let heldFor: number | undefined
  // The newest count that is too far above the nonces that the lane knows of.
  let far: number | undefined
  const asking = createOneAtATime(context)

  function count(latest: number, head: number): void {
    const isFar = latest - book.cursor > JUMP_MAX
    far = isFar ? latest : undefined
    if (!isFar && heldFor !== undefined) lift()
    if (!isFar || heldFor === latest || asking.busy || !belief.confirms(latest, head)) return
    asking.run(() => confirm(latest, head))
  }

  async function confirm(latest: number, head: number): Promise<void> {
    const lower = await belief.lowerElsewhere(latest)
    if (context.closed || far !== latest) return
    if (lower !== undefined) {
      belief.forget()
      if (heldFor !== undefined) lift()
      return endpointPool.doubtReader(contradiction(latest, lower))
    }
    heldFor = latest
    lane.holds.add('jump', jumpDetail(latest, book.cursor, head))
  }

  function lift(): void {
    heldFor = undefined
    lane.holds.lift('jump')
  }

  return {
    count,
    refuted(shown) {
      far = undefined
      if (heldFor !== undefined && shown <= book.cursor + JUMP_MAX) lift()
    },
    lift,
    accept() {
      if (heldFor !== undefined) book.raise(heldFor)
      heldFor = undefined
    },
    get isHeld() {
      return heldFor !== undefined
    },
  }
}

function jumpDetail(latest: number, cursor: number, head: number): string {
  return `The endpoint counts ${latest} used nonces at block ${head}, and this lane knows of ${cursor}. The hold lifts when blocks show their use, or when the count is ${cursor + JUMP_MAX} or less again; resume() believes the count.`
}
