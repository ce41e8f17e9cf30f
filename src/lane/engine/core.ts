import type { Chain, LocalAccount } from 'viem'
import { createLane, type Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { type Clock, type Random, stoppableClock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { type Signatures, signatures } from '../../rpc/signatures.js'
import type { HoldReason, LaneOptions, Limits, Logger, Tx } from '../../types/index.js'
import type { Store, StoredTransaction } from '../../types/store.js'
import type { Admission } from '../admission/admission.js'
import type { Seed } from '../confirmation/seeding.js'
import { takeChanged } from '../confirmation/stages.js'
import type { Emitter } from '../emitter.js'
import { shareOf } from '../queue/groups.js'
import { createPendingQueue } from '../queue/pendingQueue.js'
import type { LaneSession } from '../session/laneSession.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Transaction } from '../transaction/transaction.js'
import type { EngineOptions } from './engineTypes.js'
import { createSignals } from './signals.js'

/** The objects that the parts of a lane's engine share. Parts know this and not each other. */
export type LaneContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly limits: Limits
  readonly logger: Logger
  /** See `LaneLog`. */
  readonly notice: (sentence: string) => void
  readonly events: Emitter
  /** See `reportError`. */
  readonly errors: Repeats<Error>
  readonly fees: FeeOracle
  readonly lossDepth: 'child' | 'safe' | number
  readonly finality: LaneOptions<Chain>['finality']
  readonly broadcast: 'first' | 'all'
  /** Undefined for a lane that only hands out nonces: it promises P1 and P2, not P3. */
  signer: LocalAccount | undefined
  readonly signatures: Signatures
  /** Transactions that have not ended, by id. */
  readonly transactions: Map<string, Transaction>
  /** Transactions that are to be written with the next journal write. */
  readonly changed: Set<Transaction>
  /** The transactions of `changed` that move to another lane of the pool, with their fields for that lane. */
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
  /** The public handle of a transaction: always the same object. */
  txOf(transaction: Transaction): Tx
  readonly session: LaneSession
  readonly admission: Admission
  /** Once aborted, this process neither signs, sends nor follows the chain for the lane. Another process may. */
  readonly closing: AbortSignal
  readonly closed: boolean
  /** The account's use of nonces before the first record of this lane. */
  readonly history: Seed['history']
  /** The highest nonce whose no-op, within the lane's ceiling, cannot be paid or cannot outbid the pooled transaction. */
  blockedAt: number
}

export type Core = ReturnType<typeof createCore>

/** The objects that all parts of a lane share: the nonces, the pending queue, and the signals between the parts. */
export function createCore(options: EngineOptions) {
  const { environment, session, groups } = options
  const { clock, estimator } = options.ahead
  const signals = createSignals()
  const weightOf = (group: string | undefined) => shareOf(groups, group).weight
  const queue = createPendingQueue<Transaction>(weightOf)
  const closing = new AbortController()
  const broken = (error: unknown) => reportError(session, error)
  // The inbox counts the commands of other processes that are done, for the next write of the journal.
  const commands = { doneUpTo: 0 }
  const lane = createLane({
    ...options,
    clock,
    turns: options.endpointPool.turns,
    duties: {
      perform: signals.perform,
      moved: signals.moved,
      held(...change) {
        reportHold(context, ...change)
        if (!change[1]) signals.freed()
      },
      changedTransactions: () => takeChanged(context),
      commandsDoneUpTo: () => commands.doneUpTo,
      failed: broken,
      covered: signals.freed,
      lost: options.lost,
      took: environment.probe?.row,
    },
  })
  const context = createContext(options, { lane, closing: closing.signal })
  const background = stoppableClock(environment.background ?? environment.clock)
  return { context, lane, queue, signals, closing, clock, background, commands, estimator, weightOf, broken }
}

/** The objects that the parts of this engine share. */
function createContext(
  options: EngineOptions,
  { lane, closing }: { readonly lane: Lane; readonly closing: AbortSignal },
): LaneContext {
  const { environment, session, ahead } = options
  return {
    lane,
    endpointPool: options.endpointPool,
    store: options.store,
    clock: ahead.clock,
    random: environment.random,
    limits: options.limits,
    logger: options.logger,
    notice: options.notice,
    events: session.events,
    errors: session.errors,
    fees: ahead.fees,
    lossDepth: options.lossDepth,
    finality: options.finality,
    broadcast: options.broadcast,
    signer: options.signer,
    signatures: environment.signatures ?? signatures,
    transactions: session.transactions,
    changed: new Set(),
    handedOff: new Map(),
    txOf: session.txOf,
    session,
    admission: options.admission,
    closing,
    get closed() {
      return closing.aborted
    },
    history: options.seed.history,
    blockedAt: -1,
  }
}

/** Reports a hold as an event and in the log. */
function reportHold(
  { events, logger, lane }: { readonly events: Emitter; readonly logger: Logger; readonly lane: Lane },
  reason: HoldReason,
  isHeld: boolean,
  detail?: string,
): void {
  logger.warn?.({ reason, detail, lane: lane.key.address }, isHeld ? 'lane held' : 'lane released')
  if (isHeld) events.emit('held', detail === undefined ? { reason } : { reason, detail })
  else events.emit('released', { reason })
}
