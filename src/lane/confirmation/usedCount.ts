import type { Address } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { concernsCaller } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { createOneAtATime } from '../../platform/oneAtATime.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits } from '../../types/index.js'
import { countsElsewhere, shownByBlocks } from './counts.js'

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

/**
 * Decides when to believe a count that no body explains. One reading may come from a faulty backend.
 * Therefore two readings have to agree, at different blocks or some time apart, and no other endpoint may
 * contradict them. A believed count is revoked when a lower count is confirmed.
 */
type CountBelief = {
  /** An earlier reading, at another block or long enough ago, had the same count. */
  confirms(count: number, head: number): boolean
  /** The lowest count below this one that another endpoint reports. */
  lowerElsewhere(count: number): Promise<number | undefined>
  /** The lowest count above this one that another endpoint reports. */
  higherElsewhere(count: number): Promise<number | undefined>
  forget(): void
}

/** Minimum time between two readings that agree, on a chain without empty blocks. */
const APART_MS = 3_000

export function createCountBelief(parts: {
  readonly clock: Clock
  readonly endpointPool: Pick<EndpointPool, 'others'>
  readonly address: Address
  readonly timeoutMs: number
}): CountBelief {
  const { clock, endpointPool, address, timeoutMs } = parts
  let first: { readonly count: number; readonly head: number; readonly atMs: number } | undefined

  function confirms(count: number, head: number): boolean {
    if (first === undefined || first.count !== count) {
      first = { count, head, atMs: clock.now() }
      return false
    }
    return head > first.head || clock.now() - first.atMs >= APART_MS
  }

  async function elsewhere(is: (other: number) => boolean): Promise<number | undefined> {
    const found = (await countsElsewhere(endpointPool, address, timeoutMs)).filter(is)
    return found.length === 0 ? undefined : Math.min(...found)
  }

  return {
    confirms,
    lowerElsewhere: (count) => elsewhere((other) => other < count),
    higherElsewhere: (count) => elsewhere((other) => other > count),
    forget() {
      first = undefined
    },
  }
}

/** The reason to doubt the read endpoint if another endpoint counts less, or more. */
function contradiction(count: number, other: number): string {
  return `the endpoint counts ${count} used nonces, and another endpoint counts ${other}`
}

/**
 * The hold of a lane whose account seems to have used many more nonces than the lane knows of. The lane is
 * held when the count was read twice and no other endpoint counts less. The hold lifts when the count is
 * explained or refuted, or is no longer reported.
 */
type JumpHold = {
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
