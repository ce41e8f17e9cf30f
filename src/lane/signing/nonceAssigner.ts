import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import { type Clock, isWithin } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits } from '../../types/index.js'
import type { GroupBounds } from '../queue/groups.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import { note } from '../transaction/changes.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { attemptFeesBound } from './cost.js'
import type { FeeBudgetGuard } from './feeBudget.js'
import type { FeeOracle } from './feeOracle.js'
import type { Funds } from './funds.js'
import type { Signing } from './signing.js'

type NonceAssignerContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'tracker' | 'turns'>
  readonly fees: FeeOracle
  readonly clock: Clock
  readonly limits: Pick<Limits, 'signMax'>
  readonly errors: Repeats<Error>
  readonly signer: LocalAccount | undefined
  readonly closed: boolean
}

/** Assigns nonces to queued transactions, as fast as the window, the money and the signer allow. */
export type NonceAssigner = {
  /** Called after any change that may admit another transaction. */
  run(): void
}

type NonceAssignerOptions = {
  readonly context: NonceAssignerContext
  readonly queue: PendingQueue<Transaction>
  readonly signing: Signing
  readonly funds: Funds
  readonly budget: Pick<FeeBudgetGuard, 'allows' | 'reserved'>
  /** The bounds of transactions in flight per group. */
  readonly bounds: Pick<GroupBounds, 'admits' | 'closeFull' | 'reserved'>
  /** Whether the transaction may take the next nonce now. Some transactions have to go alone. */
  readonly admits: (transaction: Transaction) => boolean
  /** Whether one more nonce may be assigned. */
  readonly hasRoom: () => boolean
  /** The transaction is next. Ends it if its deadline has passed. */
  readonly due: (transaction: Transaction) => void
  /** The transaction costs more than the account has: others go first. */
  readonly setAside: (transaction: Transaction, costWei: bigint) => void
  /** The transaction ends without a nonce. */
  readonly failed: (transaction: Transaction, error: TxlaneError) => void
  /** Resolves when the uses of nonces that the last tick counted are explained. */
  readonly explained: () => Promise<void>
  /** Reports a bug of this library. The lane goes on as well as it can. */
  readonly broken: (error: unknown) => void
}

export function createNonceAssigner(options: NonceAssignerOptions): NonceAssigner {
  const { context, queue, signing, funds, bounds, budget } = options
  const { lane } = context
  const { turns } = context.endpointPool
  const mayReserve = createReservationGate(options)
  const freshen = createFreshness(options)
  const market = createMarketReads(context, run)
  let scheduled = false
  let running = false
  let again = false

  /**
   * Ends transactions whose ceiling is below the minimum of every node. They get no nonce: nothing was sent,
   * and the caller gets an error.
   */
  function refuseDear(): void {
    for (let first = queue.peek(); first?.ready; first = queue.peek()) {
      const aboveCeiling = signing.aboveCeiling(first)
      note(first, 'aboveCeiling', aboveCeiling)
      if (aboveCeiling === undefined) return
      queue.remove(first)
      options.failed(first, txError(first, 'REJECTED', 'notExecuted', 'Its fees were not taken.'))
    }
  }

  async function turn(): Promise<void> {
    bounds.closeFull()
    refuseDear()
    const next = queue.peek()
    if (next === undefined || !mayReserve(next)) return
    // The current signatures leave, and answers are processed, before more are signed.
    if (signing.whole) await signing.whole
    if (turns.isSpent()) await turns.room()
    // Known values are not awaited, so that an idle lane sends at once.
    const looking = freshen()
    if (looking) await looking
    const isRead = market.before(queue.peek())
    if (!(typeof isRead === 'boolean' ? isRead : await isRead)) return
    const reserving = lane.exclusiveNow(reserveAll)
    if (reserving) await reserving
  }

  // Created once: a closure per turn would be compiled again each time.
  function reserveAll(): void {
    while (reserveNext()) {}
  }

  /**
   * Reserves the nonce last. Everything that can fail ran before, so a reserved nonce is nearly always used.
   */
  function reserveNext(): boolean {
    bounds.closeFull()
    const transaction = queue.peek()
    if (transaction === undefined || !mayReserve(transaction)) return false
    options.due(transaction)
    if (hasFailed(transaction)) {
      queue.remove(transaction)
      return true
    }
    if (!market.isKnown(transaction)) {
      again = true
      return false
    }
    const feesWei = attemptFeesBound(context, transaction)
    const cost = (transaction.request.value ?? 0n) + feesWei
    if (funds.isBeyond(cost)) {
      options.setAside(transaction, cost)
      return true
    }
    // The next reading of the balance shows whether this is only backpressure.
    if (!funds.afford(cost) || !budget.allows(feesWei)) return false
    queue.shift()
    const nonce = lane.next()
    const token = lane.token()
    funds.reserved(nonce, cost)
    bounds.reserved(nonce, transaction)
    budget.reserved(nonce, feesWei)
    lane.apply(nonce, { type: 'reserve', claim: transaction.id, token })
    return true
  }

  function run(): void {
    // A transaction that joins the queue later calls `run` again.
    if (queue.size === 0) return
    if (running) {
      again = true
      return
    }
    if (scheduled) return
    scheduled = true
    queueMicro(() => void loop())
  }

  async function loop(): Promise<void> {
    scheduled = false
    running = true
    do {
      again = false
      await turn().catch(options.broken)
    } while (again)
    running = false
  }

  return { run }
}

/** Per concurrent signature, this many may wait for the journal, which takes all of them in one write. */
const UNJOURNALED = 8

/** Returns the function that says whether the lane may reserve a nonce for a transaction now. */
function createReservationGate(options: NonceAssignerOptions): (transaction: Transaction) => boolean {
  const { context, signing, bounds } = options
  const { holds } = context.lane
  const { signMax } = context.limits

  return (transaction) =>
    options.admits(transaction) &&
    bounds.admits(transaction) &&
    !holds.any &&
    !context.closed &&
    // A lane that an allocator opened has no key until a sender joins it.
    context.signer !== undefined &&
    signing.signatures < signMax &&
    signing.open < UNJOURNALED * signMax &&
    options.hasRoom()
}

const STALE_MS = 5_000
const STALE_BLOCKS = 3

/**
 * A suspended lane has missed events, so it polls before it reserves a nonce. The returned function
 * gives undefined if the lane is up to date.
 */
function createFreshness({ context, explained }: NonceAssignerOptions): () => Promise<void> | undefined {
  const { clock, endpointPool } = context
  return () => {
    const { tickedAt, blockMs } = endpointPool.tracker
    const staleMs = Math.max(STALE_MS, STALE_BLOCKS * (blockMs ?? 0))
    if (tickedAt !== undefined && isWithin(clock, tickedAt, staleMs)) return undefined
    endpointPool.tracker.lookNow()
    return endpointPool.tracker.nextTick().then(explained)
  }
}

/** Pause after a failed read of the market price, doubled each time. */
const RETRY_MS = 300
const RETRY_MS_MAX = 3_000

/** Reads the market price before nonces are reserved. */
type MarketReads = {
  /**
   * Reads the price for the first queued transaction if it is not known. Resolves to false if the read fails,
   * or if the pause after a failure is not over.
   */
  before(first: Transaction | undefined): boolean | Promise<boolean>
  /** Whether the price for the transaction is known, or was read by the last `before`. */
  isKnown(transaction: Transaction): boolean
}

/** `retry` is called when the pause after a failure is over. */
function createMarketReads(
  context: Pick<NonceAssignerContext, 'clock' | 'errors' | 'fees'>,
  retry: () => void,
): MarketReads {
  const { fees, clock } = context
  let isPausing = false
  let failures = 0
  // The market price for transactions with the preset of this one was read.
  let readFor: Transaction | undefined

  async function read(first: Transaction): Promise<boolean> {
    try {
      await fees.market(undefined, first.record.feePreset)
    } catch (error) {
      pause(error)
      return false
    }
    failures = 0
    readFor = first
    return true
  }

  function pause(error: unknown): void {
    reportError(context, error)
    isPausing = true
    const pauseMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** failures++)
    clock.setTimer(() => {
      isPausing = false
      retry()
    }, pauseMs)
  }

  return {
    before(first) {
      // Once a block, for the whole lane. Signatures in between use the same answer.
      if (first !== undefined && !fees.known(first.record)) return isPausing ? false : read(first)
      failures = 0
      readFor = undefined
      return true
    },
    isKnown(transaction) {
      if (readFor !== undefined && readFor.record.feePreset === transaction.record.feePreset) return true
      return fees.known(transaction.record)
    },
  }
}
