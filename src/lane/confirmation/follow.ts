import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { Follower, Look, SealedBlock } from '../../chain/blocks/follower.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { type BlockRef, newestAttempt } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { createRepeats, kindOfWords } from '../../platform/repeats.js'
import type { StopSignal } from '../../platform/stopSignal.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits, Logger } from '../../types/index.js'
import type { AuthorizationBarrier } from '../admission/authorizationBarrier.js'
import type { Broadcaster } from '../broadcast/broadcast.js'
import type { LaneSession } from '../session/laneSession.js'
import type { FeeBudgetGuard } from '../signing/feeBudget.js'
import type { Funds } from '../signing/funds.js'
import type { Transaction } from '../transaction/transaction.js'
import { tagError } from '../transaction/waiting.js'
import { createDeepReorgs } from './deepReorgs.js'
import { finalUpTo, settledUpTo } from './depth.js'
import type { FinalityIndex } from './finalityIndex.js'
import type { NonceRegression } from './nonceRegression.js'
import type { NonceUsage } from './nonceUsage.js'
import { createRefreshWatch } from './refreshWatch.js'
import type { Seeding } from './seeding.js'
import { createSpotCheck } from './spotCheck.js'
import { createWitnessCheck } from './witnessCheck.js'

type FollowContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly logger: Logger
  readonly errors: Repeats<Error>
  readonly lossDepth: 'child' | 'safe' | number
  readonly signatures: Signatures
  readonly session: LaneSession
  readonly closing: StopSignal
  readonly closed: boolean
  blockedAt: number
}

export type FollowOptions = {
  readonly context: FollowContext
  readonly funds: Funds
  readonly budget: Pick<FeeBudgetGuard, 'sealing'>
  readonly seeding: Seeding
  readonly usage: NonceUsage
  readonly regression: NonceRegression
  readonly barrier: AuthorizationBarrier
  /** Nonces that were used in blocks which the walk has not seen. */
  readonly unwalked: Set<number>
  readonly finalityIndex: FinalityIndex
  readonly delivered: Pick<Broadcaster, 'claimed' | 'counted' | 'refreshed' | 'kick'>
  /** True while our lease is certainly still valid. Otherwise a successor may have used an unknown nonce. */
  readonly leased: () => boolean
  readonly waiting: () => number
  readonly transactionOf: (nonce: number) => Transaction | undefined
  /** A tick was processed completely. */
  readonly ticked: (newHead: boolean) => void
  readonly broken: (error: unknown) => void
  /** A tick was not answered. */
  readonly unreachable: () => void
}

// Maximum distance between the newest sealed block and the block of a feed, or a pending block.
const AHEAD_MAX = 16

/** Converts the poller's events into events for slots. */
export function createFollower(options: FollowOptions): Follower {
  const { context, funds, seeding, usage, regression, barrier, unwalked, finalityIndex } = options
  const { lane, endpointPool, clock } = context
  const { waiting } = context.session
  const { book } = lane
  const tracker = endpointPool.tracker
  // The highest own nonce seen in the pending block since the last comparison with the count.
  let seenPending: number | undefined
  // Own transactions in the newest pending block that were not applied yet, because a node may have built
  // that block from its pool.
  let shown: { readonly nonce: number; readonly hash: Hash; readonly number: number }[] = []
  // A block was sealed since the last tick.
  let isSealed = false
  const refreshes = createRefreshWatch(
    clock,
    () => endpointPool.reader.profile.current().cadenceMs ?? context.limits.pollIntervalMs,
  )

  const spots = createSpotCheck(context, (nonce, block, stood) => {
    if (stood || left(nonce, block) === false) unwalked.delete(nonce)
  })

  const silence = createRepeats<{ readonly endpoint: string; readonly why: string }>({
    clock,
    kindOf: ({ endpoint, why }) => kindOfWords(endpoint, why),
    tell: (said, times) => context.logger.warn?.({ ...said, times }, 'the endpoint did not answer'),
  })
  context.closing.listen(silence.stop)
  const witnesses = createWitnessCheck(context)
  const deepReorgs = createDeepReorgs(context)

  function pace(): ReturnType<Follower['pace']> {
    const open = book.coveredTo < book.cursor || context.session.waits > 0 || options.waiting() > 0
    const isLooking = usage.wanted || regression.wanted || witnesses.wanted
    if (funds.wanted || seeding.isUrgent || isLooking) return 'cadence'
    if (open) return tellsBetweenBlocks() ? 'cadence' : 'head'
    const isWatching = usage.isOpen || finalityIndex.size > 0 || seeding.isDoubted
    return book.unfinished > 0 || isWatching ? 'block' : 'idle'
  }

  /** A count may show the state of open transactions before the next block does. */
  function tellsBetweenBlocks(): boolean {
    const { pending } = endpointPool.reader.profile.current()
    return pending === 'unknown' || (pending === 'mempool' && book.coveredTo < book.cursor)
  }

  function isPassedOver(): boolean {
    const slot = book.get(book.floor)
    const madeAt = slot?.state === 'live' ? newestAttempt(slot)?.madeAt : undefined
    const head = tracker.head?.number
    return madeAt === undefined || head === undefined || head > madeAt.number
  }

  /** Some nodes build a pending block from their pool. Its transactions are not pre-confirmed. */
  function tellShown(): void {
    if (endpointPool.reader.profile.current().pending !== 'preconfirmed') return
    const head = tracker.head?.number ?? 0
    for (const { nonce, hash, number } of shown.splice(0))
      if (number > head) lane.apply(nonce, { type: 'preconfirmed', hash, blockNumber: number })
  }

  async function judge(head: number): Promise<void> {
    for (const nonce of unwalked) if (stands(nonce) !== undefined) unwalked.delete(nonce)
    await endpointPool.turns.each(book.dueForVerdict(settledUpTo(context, head)), (nonce) => {
      if (stands(nonce) === true && witnesses.confirmed(nonce)) lane.apply(nonce, { type: 'lossDepth' })
    })
    const horizon = finalUpTo(context, head)
    const isWalked = (nonce: number) => !unwalked.has(nonce)
    finalityIndex.advance(tracker.tag('safe'), tracker.tag('finalized'), horizon, isWalked, clock)
    await endpointPool.turns.each(book.dueForHorizon(horizon), (nonce) => {
      if (!unwalked.has(nonce)) lane.apply(nonce, { type: 'horizon' })
    })
  }

  /**
   * Whether the block that used a nonce is on the chain; undefined while that is not known. A block that was
   * read from the store, or found by evidence, may lie below the start of the walk, and may have left while
   * no process followed the chain.
   */
  function stands(nonce: number): boolean | undefined {
    const slot = book.get(nonce)
    if (slot?.state !== 'used' || slot.at === undefined || slot.at.number < 0) return true
    const walked = tracker.hashAt(slot.at.number)
    if (walked === slot.at.hash) return true
    if (walked !== undefined) return left(nonce, slot.at)
    // The walk has seen the block, and the block stayed on the chain as long as blocks are kept.
    if (!unwalked.has(nonce)) return true
    if (!tracker.reach(slot.at.number)) spots.ask(nonce, slot.at)
    return undefined
  }

  /**
   * Applies that `block` has left, and returns false. A settled block had further blocks above it, which the
   * previous lease owner may have seen. If an endpoint shows another block at the same number, but not as
   * many blocks above it, the endpoint may lag on a branch that the chain has left since. The function then
   * returns undefined.
   */
  function left(nonce: number, block: BlockRef): false | undefined {
    const slot = book.get(nonce)
    const isSettled = slot?.state === 'used' && slot.settled
    const head = tracker.head?.number ?? -1
    if (isSettled && block.number <= head && block.number > settledUpTo(context, head)) return undefined
    deepReorgs.left(nonce, block)
    return false
  }

  async function sealed(block: SealedBlock, own: readonly Hash[]): Promise<void> {
    const ref = { number: block.number, hash: block.hash }
    options.budget.sealing(block)
    await endpointPool.turns.each(own, (hash) => {
      const nonce = book.nonceOf(hash)
      if (nonce !== undefined) lane.apply(nonce, { type: 'sealed', hash, block: ref, walked: true })
    })
    if (context.closed) return
    deepReorgs.came(block)
    // A transaction that was pre-confirmed for this block number, and is not in the block, was withdrawn.
    for (const nonce of book.preconfirmedUpTo(block.number)) {
      const slot = book.get(nonce)
      if (slot?.state !== 'live' || slot.preconfirmed === undefined) continue
      lane.apply(nonce, { type: 'notPreconfirmed', blockNumber: slot.preconfirmed.blockNumber })
    }
    isSealed = true
  }

  /** Limits the number, because a number that no sealed block reaches could never be checked. */
  function reachable(blockNumber: number): number {
    return Math.min(blockNumber, (tracker.head?.number ?? 0) + AHEAD_MAX)
  }

  /**
   * Notifies the delivery of a refresh: the sealed blocks of this tick, which count as one because they were
   * seen together, or a pending block that shows pre-confirmations. A node rebuilds its pending block at a
   * steady pace, and an empty one looks like the one before.
   */
  function refreshed(look: Look): void {
    const isRefresh =
      endpointPool.reader.profile.current().pending === 'preconfirmed' && refreshes.isNew(look)
    if (isSealed || isRefresh) {
      const isTelling = options.delivered.refreshed({ sealed: isSealed, askedAtMs: look.askedAtMs })
      // If the poll said nothing about recent sends, the next poll may be the first that can show them.
      if (isTelling) refreshes.told(look)
    }
    isSealed = false
  }

  return {
    address: lane.key.address,
    pace,
    tags: () => {
      const safe = waiting.waitsFor('safe') || (context.lossDepth === 'safe' && book.unfinished > 0)
      const finalized = book.unfinished > 0 ? 'sometime' : 'never'
      return {
        safe: safe ? 'now' : 'never',
        finalized: waiting.waitsFor('finalized') ? 'now' : finalized,
      }
    },
    wantsBalance: () => funds.wanted,
    wantsPending: () => seeding.wantsPending,
    isPassedOver,
    sealed,
    left(block) {
      usage.left(block)
      for (const nonce of book.usedIn(block.hash)) if (left(nonce, block) === undefined) unwalked.add(nonce)
    },
    preconfirmed(blockNumber, own) {
      const number = reachable(blockNumber)
      if (shown[0]?.number !== number) shown = []
      for (const hash of own) {
        const nonce = book.nonceOf(hash)
        if (nonce === undefined) continue
        seenPending = Math.max(nonce, seenPending ?? 0)
        shown.push({ nonce, hash, number })
      }
      tellShown()
    },
    observed(blockNumber, own) {
      const number = reachable(blockNumber)
      for (const hash of own) {
        const nonce = book.nonceOf(hash)
        if (nonce !== undefined) lane.apply(nonce, { type: 'preconfirmed', hash, blockNumber: number })
      }
      lane.noteCovered()
      options.delivered.kick()
    },
    counts({ latest, pending, askedAtMs }, head) {
      if (pending !== undefined)
        endpointPool.reader.profile.observe(
          seenPending === undefined
            ? { kind: 'countWithoutBlock', count: pending, askedAtMs }
            : { kind: 'countWithBlock', nonce: seenPending, count: pending },
        )
      // Revokes the coverage of an earlier count if the profile has been contradicted since.
      const isOfPool = endpointPool.reader.profile.current().pending === 'mempool'
      if (!isOfPool) lane.counted(0)
      else if (pending !== undefined) lane.counted(pending)
      if (pending !== undefined) options.delivered.counted({ count: pending, askedAtMs, atMs: clock.now() })
      if (latest !== undefined) options.delivered.claimed(Math.max(latest, (isOfPool && pending) || 0))
      seenPending = undefined
      tellShown()
      if (latest === undefined || !options.leased()) return
      if (seeding.count({ latest, pending }, head)) return
      usage.count(latest, head)
      barrier.count(latest, head)
      regression.count(latest, head)
    },
    balance: funds.balance,
    async ticked(newHead, look) {
      const head = tracker.head?.number
      if ((newHead || witnesses.wanted || tracker.isAtRest) && head !== undefined) await judge(head)
      // The lane may have been closed or lost meanwhile.
      if (context.closed) return
      for (const tag of ['safe', 'finalized'] as const) {
        if (waiting.waitsFor(tag) && tracker.tag(tag) === 'absent')
          finalityIndex.refuse(tag, (transaction) => tagError(transaction, tag))
      }
      if (book.floor > context.blockedAt) lane.holds.lift('blocked')
      lane.noteCovered()
      refreshed(look)
      options.ticked(newHead)
    },
    broken: options.broken,
    unreachable(why) {
      endpointPool.reader.nonsense(why)
      options.unreachable()
      silence.note({ endpoint: endpointPool.reader.port.name, why })
    },
  }
}
