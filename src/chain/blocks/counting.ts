import type { Hash } from 'viem'
import type { Clock } from '../../platform/clock.js'
import { balanceCall, countCall, decodeNumber, decodeQuantity } from '../../rpc/codec.js'
import type { Counts, Follower, Pace } from './follower.js'
import { decoded, type Part } from './tickParts.js'

/** What a tick asks for the lanes that follow the chain: the counts of their accounts, and balances. */
export type Counting = {
  /**
   * `pending`: the count at `pending` is worth reading. What is read goes to `told`, to be told after the blocks.
   */
  parts(pending: boolean, told: ((head: number) => void)[]): readonly Part[]
  /** How closely the follower has to look: where a block passed over what it sent, its counts are wanted before the next one. */
  paceOf(follower: Follower): Pace
}

/** Lanes whose counts one tick asks for; with more of them they take turns. */
const COUNTS_AT_ONCE = 40

export function createCounting(
  followers: ReadonlySet<Follower>,
  tip: () => Hash | undefined,
  clock: Pick<Clock, 'now'>,
): Counting {
  // The head at which a count was asked for that was answered.
  const countedAt = new WeakMap<Follower, Hash>()
  let turn = 0

  /** Nothing was counted since the newest block was shown. */
  function isUncounted(follower: Follower): boolean {
    const head = tip()
    return head === undefined || countedAt.get(follower) !== head
  }

  /**
   * A lane whose blocks hold what it sent is not counted: they say more. Where a block passed over something it is counted
   * once for each such block.
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

  function partsOf(follower: Follower, pending: boolean, told: ((head: number) => void)[]): readonly Part[] {
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
    told.push((at) => {
      // The newest block was read with the same request.
      const head = tip()
      if (head !== undefined && counts.latest !== undefined) countedAt.set(follower, head)
      follower.counts(counts, at)
    })
    if (!follower.wantsBalance()) return parts
    const balance: Part = {
      call: balanceCall(follower.address),
      take: (reply) => {
        const wei = decoded(reply, decodeQuantity)
        if (wei !== undefined && wei !== null) told.push(() => follower.balance(wei))
      },
    }
    return [...parts, balance]
  }

  return {
    parts: (pending, told) => inTurn().flatMap((follower) => partsOf(follower, pending, told)),
    paceOf(follower) {
      const pace = follower.pace()
      const isDue = pace === 'head' && follower.isPassedOver?.() === true && isUncounted(follower)
      return isDue ? 'cadence' : pace
    },
  }
}
