import type { Hash } from 'viem'
import type { Follower, Pace, SealedBlock } from '../../chain/blocks/follower.js'
import { createRest } from '../../chain/blocks/rest.js'
import { newestAttempt } from '../../ledger/slot.js'
import { onAbort } from '../../platform/onAbort.js'
import { createRepeats, kindOfWords } from '../../platform/repeats.js'
import type { Logger } from '../../types/index.js'
import type { AuthorizationBarrier } from '../admission/authorizationBarrier.js'
import type { Broadcaster } from '../broadcast/broadcast.js'
import type { LaneSession } from '../session/laneSession.js'
import type { FeeBudgetGuard } from '../signing/feeBudget.js'
import type { Funds } from '../signing/funds.js'
import { tagError } from '../transaction/txError.js'
import { createFinality, type Finality, type FinalityContext } from './finality.js'
import type { FinalityIndex } from './finalityIndex.js'
import type { NonceRegression } from './nonceRegression.js'
import type { NonceUsage } from './nonceUsage.js'
import { createPendingBlocks, createRefreshes } from './pendingBlocks.js'
import type { Seeding } from './seeding.js'

type FollowContext = FinalityContext & {
  readonly logger: Logger
  readonly session: LaneSession
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
  readonly unverifiedNonces: Set<number>
  readonly finalityIndex: FinalityIndex
  readonly broadcaster: Pick<Broadcaster, 'claimed' | 'counted' | 'refreshed' | 'kick'>
  /** True while our lease is certainly still valid. Otherwise a successor may have used an unknown nonce. */
  readonly leased: () => boolean
  readonly waiting: () => number
  /** A tick was processed completely. */
  readonly ticked: (newHead: boolean) => void
  readonly broken: (error: unknown) => void
  /** A tick was not answered. */
  readonly unreachable: () => void
}

/** Converts the poller's events into events for slots. */
export function createFollower(options: FollowOptions): Follower {
  const {
    context,
    funds,
    seeding,
    usage,
    regression,
    barrier,
    unverifiedNonces,
    finalityIndex,
    broadcaster,
  } = options
  const { lane, endpointPool, clock } = context
  const { waiting } = context.session
  const { book } = lane
  const { tracker } = endpointPool
  const finality = createFinality({ context, unverifiedNonces, finalityIndex })
  // The tags may move, or be read, while no block comes.
  let appliedTags = ''
  const pendingBlocks = createPendingBlocks({ lane, endpointPool })
  const refreshes = createRefreshes(context, broadcaster)
  const rest = createRest(clock)
  const silence = createRepeats<{ readonly endpoint: string; readonly why: string }>({
    clock,
    kindOf: ({ endpoint, why }) => kindOfWords(endpoint, why),
    report: (said, times) => context.logger.warn?.({ ...said, times }, 'the endpoint did not answer'),
  })
  onAbort(context.closing, silence.stop)

  async function sealed(block: SealedBlock, own: readonly Hash[]): Promise<void> {
    const ref = { number: block.number, hash: block.hash }
    options.budget.sealing(block)
    await endpointPool.turns.each(own, (hash) => {
      const nonce = book.nonceOf(hash)
      if (nonce !== undefined) lane.apply(nonce, { type: 'sealed', hash, block: ref, walked: true })
    })
    if (context.closed) return
    finality.joined(block)
    pendingBlocks.sealed(block.number)
    refreshes.sealed()
  }

  return {
    address: lane.key.address,
    pace: () => rest.paceOf(paceOf(options, finality)),
    tags() {
      if (tagWaits(waiting) > 0) return 'now'
      if (context.lossDepth === 'safe' && book.unfinished > 0) return 'now'
      if (finality.isOpen || book.get(book.floor - 1)?.state === 'used') return 'sometime'
      return book.unfinished > 0 ? 'seldom' : 'never'
    },
    wantsBalance: () => funds.wanted,
    wantsPending: () => seeding.wantsPending || context.session.isCounting,
    isPassedOver() {
      const slot = book.get(book.floor)
      const madeAt = slot?.state === 'live' ? newestAttempt(slot)?.madeAt : undefined
      const head = tracker.head?.number
      return madeAt === undefined || head === undefined || head > madeAt.number
    },
    sealed,
    left(block) {
      usage.left(block)
      finality.left(block)
    },
    preconfirmed: pendingBlocks.shown,
    observed(blockNumber, own) {
      pendingBlocks.reported(blockNumber, own)
      broadcaster.kick()
    },
    counts({ latest, pending, askedAtMs }, head) {
      if (pending !== undefined) pendingBlocks.counted(pending, askedAtMs)
      // Revokes the coverage of an earlier count if the profile has been contradicted since.
      const isOfPool = endpointPool.reader.profile.current().pending === 'mempool'
      if (!isOfPool) lane.counted(0)
      else if (pending !== undefined) lane.counted(pending)
      if (pending !== undefined) broadcaster.counted({ count: pending, askedAtMs, atMs: clock.now() })
      if (latest !== undefined) broadcaster.claimed(Math.max(latest, (isOfPool && pending) || 0))
      pendingBlocks.countsTaken()
      if (latest === undefined || !options.leased()) return
      if (seeding.count({ latest, pending }, head)) return
      usage.count(latest, head)
      barrier.count(latest, head)
      regression.count(latest, head)
    },
    balance: funds.balance,
    async ticked(newHead, look) {
      const head = tracker.head?.number
      const tags = `${tracker.tag('safe')} ${tracker.tag('finalized')}`
      // A verdict may be due although no block has come.
      const isDue = finality.wanted || finality.isRipening || tracker.isAtRest
      const isNews = newHead || tags !== appliedTags || isDue
      appliedTags = tags
      if (isNews && head !== undefined) await finality.advance(head)
      // The lane may have been closed or lost meanwhile.
      if (context.closed) return
      for (const tag of ['safe', 'finalized'] as const) {
        if (waiting.countOf(tag) > 0 && waiting.isUnsupported(tag))
          finalityIndex.refuse(tag, (transaction) => tagError(transaction, tag))
      }
      if (book.floor > context.blockedAt) lane.holds.lift('blocked')
      lane.noteCovered()
      refreshes.ticked(look)
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

/** The number of callers that wait for a tag. */
const tagWaits = (waiting: LaneSession['waiting']) => waiting.countOf('safe') + waiting.countOf('finalized')

/** How often the poller should poll for this lane. */
function paceOf(options: FollowOptions, finality: Pick<Finality, 'isOpen' | 'isRipening' | 'wanted'>): Pace {
  const { context, funds, seeding, usage, regression } = options
  const { book } = context.lane
  const { waits, waiting } = context.session
  // Once all is settled, a caller that waits for a tag needs no polls but those that read the tags.
  const forTags = book.unfinished > 0 ? 0 : tagWaits(waiting)
  const open = book.coveredTo < book.cursor || waits > forTags || options.waiting() > 0
  const isLooking = usage.wanted || regression.wanted || finality.wanted
  if (funds.wanted || seeding.isUrgent || isLooking) return 'cadence'
  if (open) return countsBetweenBlocks(context) ? 'cadence' : 'head'
  if (finality.isRipening) return 'head'
  if (book.unfinished > 0 || usage.isOpen || seeding.isDoubted) return 'block'
  return finality.isOpen || forTags > 0 ? 'rest' : 'idle'
}

/** A count may show the state of open transactions before the next block does. */
function countsBetweenBlocks({ lane: { book }, endpointPool }: FollowContext): boolean {
  const { pending } = endpointPool.reader.profile.current()
  return pending === 'unknown' || (pending === 'mempool' && book.coveredTo < book.cursor)
}
