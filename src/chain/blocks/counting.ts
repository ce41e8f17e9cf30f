import type { Hash } from 'viem'
import type { Clock } from '../../platform/clock.js'
import { balanceCall, countCall, decodeNumber, decodeQuantity } from '../../rpc/codec.js'
import type { Counts, Follower, Pace } from './follower.js'
import { decoded, type Part } from './tickParts.js'

/** The calls of a tick for the lanes that follow the chain: the counts of their accounts, and balances. */
export type Counting = {
  /**
   * `pending`: the count at `pending` is worth reading. Each reading adds a function to `reports`, which the
   * tick calls after the blocks.
   */
  parts(pending: boolean, reports: ((head: number) => void)[]): readonly Part[]
  /**
   * How often the follower has to poll: if a block did not contain its transactions, it needs its counts
   * before the next block.
   */
  paceOf(follower: Follower): Pace
}

/** The maximum number of lanes that one tick counts. If there are more lanes, they take turns. */
const COUNTS_AT_ONCE = 40

export function createCounting(
  followers: ReadonlySet<Follower>,
  tip: () => Hash | undefined,
  clock: Pick<Clock, 'now'>,
): Counting {
  // The head at which the follower's last answered count was requested.
  const countedAt = new WeakMap<Follower, Hash>()
  let turn = 0

  /** True if no count was answered since the newest block was shown. */
  function isUncounted(follower: Follower): boolean {
    const head = tip()
    return head === undefined || countedAt.get(follower) !== head
  }

  /**
   * A lane whose blocks contain its transactions is not counted, because the blocks show more. If a block did
   * not contain one of them, the lane is counted once per such block.
   */
  function isWanted(follower: Follower): boolean {
    const pace = follower.pace()
    if (pace === 'idle') return false
    if (pace !== 'head' || follower.reads || follower.wantsPending?.() === true) return true
    return follower.isPassedOver?.() !== false && isUncounted(follower)
  }

  function inTurn(): Follower[] {
    const active = [...followers].filter(isWanted)
    if (active.length <= COUNTS_AT_ONCE) return active
    const start = turn % active.length
    turn += COUNTS_AT_ONCE
    return [...active.slice(start), ...active.slice(0, start)].slice(0, COUNTS_AT_ONCE)
  }

  function partsOf(
    follower: Follower,
    pending: boolean,
    reports: ((head: number) => void)[],
  ): readonly Part[] {
    if (follower.reads) return follower.reads()
    const counts: Counts = { latest: undefined, pending: undefined, askedAtMs: clock.now() }
    const count = (tag: 'latest' | 'pending'): Part => ({
      call: countCall(follower.address, tag),
      take: (reply) => {
        counts[tag] = decoded(reply, decodeNumber) ?? undefined
      },
    })
    const asksPending = pending || follower.wantsPending?.() === true
    const parts = asksPending ? [count('latest'), count('pending')] : [count('latest')]
    reports.push((at) => {
      // The newest block was read in the same request.
      const head = tip()
      if (head !== undefined && counts.latest !== undefined) countedAt.set(follower, head)
      follower.counts(counts, at)
    })
    if (!follower.wantsBalance()) return parts
    const balance: Part = {
      call: balanceCall(follower.address),
      take: (reply) => {
        const wei = decoded(reply, decodeQuantity)
        if (wei !== undefined && wei !== null) reports.push(() => follower.balance(wei))
      },
    }
    return [...parts, balance]
  }

  return {
    parts: (pending, reports) => inTurn().flatMap((follower) => partsOf(follower, pending, reports)),
    paceOf(follower) {
      const pace = follower.pace()
      const isDue = pace === 'head' && follower.isPassedOver?.() === true && isUncounted(follower)
      return isDue ? 'cadence' : pace
    },
  }
}
