import type { Hash } from 'viem'
import type { Clock } from '../clock.js'
import { balanceCall, countCall, decodeNumber, decodeQuantity } from '../rpc/codec.js'
import type { Counts, Follower } from './follower.js'
import { decoded, type Part } from './tickParts.js'

/** What a tick asks for the lanes that follow the chain: the counts of their accounts, and balances. */
export type Counting = {
  /**
   * `head`: the newest block that is known. `pending`: the count at `pending` is worth reading. What is read goes to
   * `told`, to be told after the blocks.
   */
  parts(
    asked: { readonly head: Hash | undefined; readonly pending: boolean },
    told: ((head: number) => void)[],
  ): readonly Part[]
}

/** Lanes whose counts one tick asks for; with more of them they take turns. */
const COUNTS_AT_ONCE = 40

export function createCounting(followers: ReadonlySet<Follower>, clock: Pick<Clock, 'now'>): Counting {
  // The head at which a count was asked for that was answered.
  const countedAt = new WeakMap<Follower, Hash>()
  let turn = 0

  /** A lane that blocks alone say something to counts once for each of them. */
  function isWanted(follower: Follower, head: Hash | undefined): boolean {
    const pace = follower.pace()
    if (pace === 'idle') return false
    if (pace !== 'head' || follower.reads || follower.wantsPending?.() === true) return true
    return head === undefined || countedAt.get(follower) !== head
  }

  function inTurn(head: Hash | undefined): Follower[] {
    const active = [...followers].filter((follower) => isWanted(follower, head))
    if (active.length <= COUNTS_AT_ONCE) return active
    const start = turn % active.length
    turn += COUNTS_AT_ONCE
    return [...active.slice(start), ...active.slice(0, start)].slice(0, COUNTS_AT_ONCE)
  }

  function partsOf(
    follower: Follower,
    { head, pending }: Parameters<Counting['parts']>[0],
    told: ((head: number) => void)[],
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
    told.push((at) => {
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
    parts: (asked, told) => inTurn(asked.head).flatMap((follower) => partsOf(follower, asked, told)),
  }
}
