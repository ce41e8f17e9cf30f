import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import { unboundBy } from '../../ledger/slot.js'
import type { GroupPolicy, Limits, SendOptions, Tx, TxRequest } from '../../types/index.js'
import type { LaneKey, StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import { GroupedSet, queueRefusal } from '../queue/groups.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { LaneSession } from '../session/laneSession.js'
import type { NonceAssigner } from '../signing/nonceAssigner.js'
import type { AdmissionTarget, Caller } from '../transaction/caller.js'
import { stopTimers } from '../transaction/changes.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { type Admission, type AdmissionListener, requireKnown } from './admission.js'
import {
  type ArrivalsContext,
  createArrivals,
  createDoubted,
  createOwnedTransactions,
  type OwnedTransactions,
} from './arrivals.js'
import { fingerprintOf, NO_FINGERPRINT } from './idConflict.js'
import type { Preparer } from './prepare.js'
import { createReplacements, type ReplacementsContext } from './replacements.js'
import { createWithdrawals, type WithdrawalsContext } from './withdrawals.js'

type IntakeContext = ArrivalsContext &
  DeparturesContext &
  ReplacementsContext &
  WithdrawalsContext & {
    readonly limits: Pick<Limits, 'queueMax'>
    readonly transactions: Map<string, Transaction>
    readonly admission: Admission
  }

/** Admits transactions to the leader. Ends or hands over transactions without a nonce. */
export type Intake = {
  /** Number of queued transactions: they have no nonce and have not ended. */
  readonly open: number
  /** Number of queued transactions of a group. */
  queuedOf(group: string): number
  /** The error if `more` transactions of a group (one by default) have no room, else undefined. */
  refusal(group: string | undefined, more?: number): TxlaneError | undefined
  /**
   * Adds a request. Calls the caller back once the transaction is persisted, or with the existing one if the
   * id is known.
   */
  add(request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void
  /**
   * Whether the transaction is queued here: it has no nonce, has not ended and has not been left to other
   * processes.
   */
  waits(transaction: Transaction): boolean
  /** The caller aborts it. Does nothing if it is known to be in flight. */
  abort(transaction: Transaction): void
  /** The transaction with this id has a nonce now. */
  bound(id: string): void
  /** The transaction lost its nonce and is queued again. */
  again(transaction: Transaction): void
  /**
   * The transaction, or the one that it replaced, has executed at the nonce, which was believed lost. It is
   * taken from the queue, and its bindings to other nonces are released. If a block shows that it executed
   * elsewhere, that counts, and it is not bound at this nonce.
   */
  reclaim(transaction: Transaction, nonce: number): void
  /** Moves a prepared replacement to the nonce of the transaction that it replaces. */
  place(transaction: Transaction): void
  /** Ends a transaction without a nonce. */
  failed(transaction: Transaction, error: TxlaneError): void
  /**
   * Called before the transaction gets a nonce. Ends it if its deadline has passed, whether or not its timer
   * has fired.
   */
  due(transaction: Transaction): void
  /**
   * Ends a transaction without journaled bytes. False if bytes may have been sent already; a commit in flight
   * counts.
   */
  remove(transaction: Transaction, error: TxlaneError): boolean
  /** Requests the cancellation of a journaled transaction. The answer comes with its outcome on chain. */
  askEnd(transaction: Transaction): void
  /** Hands a queued transaction over to another lane of its pool, with the next write. */
  hand(transaction: Transaction, to: LaneKey): void
  /** The transaction belongs to another lane now. */
  left(transaction: Transaction): void
  forget(transaction: Transaction): void
  /** Registers a transaction that was read from the store. */
  restore(transaction: Transaction): void
  /**
   * Called before the store is asked for arrivals. A transaction that ends from now on may still be queued in
   * the answer.
   */
  asking(): void
  /** Another process stored the transaction for this lane. Does nothing if it is known already. */
  arrived(stored: StoredTransaction): Promise<void>
  /**
   * A caller of this process has the transaction, read as queued from the store. It arrives through the
   * inbox, or has arrived and ended.
   */
  trackFromStore(transaction: Transaction): void
  /** Resumes the transaction. With a nonce it goes on by itself, without one it is queued. */
  resume(transaction: Transaction): void
  /**
   * Admits nothing from now on. Transactions without a nonce end, or stay in a durable store for the next
   * leader.
   */
  close(): void
}

const CLOSED = 'The sender was closed before it was sent.'

type IntakeParts = {
  readonly context: IntakeContext
  readonly queue: PendingQueue<Transaction>
  readonly preparer: Preparer
  readonly nonceAssigner: NonceAssigner
  readonly groups: GroupPolicy | undefined
  /** Whether no nonce above this one is in use, except those of its own tuples. */
  isTop(nonce: number): boolean
  /** The transaction takes a nonce, maybe before earlier calls. */
  taken(transaction: Transaction): void
  /** A caller waits for the receipt of a transaction that is being admitted. */
  receiptAwaited(): void
  /** A transaction was persisted with this sequence number. */
  persisted(sequence: number): void
  /** The transaction ended without execution. */
  ended(transaction: Transaction): void
}

export function createIntake(parts: IntakeParts): Intake {
  const { context, queue, preparer, nonceAssigner, ended } = parts
  const { session, admission, transactions, events, store } = context
  const queued = new GroupedSet()
  const owned = createOwnedTransactions(transactions)
  const withdrawals = createWithdrawals(context, { queued, leave, forget, ended, freed: nonceAssigner.run })
  const { fail, arm } = withdrawals
  const place = createReplacements(context, { queued, withdrawals, isTop: parts.isTop, enqueue })
  const arrivals = createArrivals(context, { owned, take, forget })
  const departures = createDepartures(context, { owned, leave, dropPreparation: preparer.drop })
  const listener = createLeaderListener(context, {
    owned,
    queued,
    persisted: parts.persisted,
    receiptAwaited: parts.receiptAwaited,
    arm,
    prepare: preparer.add,
    ended,
    onInDoubt: createDoubted(context, arrivals.arrived),
  })

  function add(request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void {
    const full = refusal(options.group)
    if (full === undefined) return admission.admit(request, options, target, { listener, caller })
    requireKnown(context, options.id, full)
      .then(() => admission.admit(request, options, target, { listener, caller }))
      .catch(caller.failed)
  }

  function refusal(group: string | undefined, more?: number): TxlaneError | undefined {
    const lanes = session.rebalancing?.lanes() ?? [{ queued: queued.of }]
    const { queueMax } = context.limits
    return queueRefusal({ size: queued.size, queueMax, policy: parts.groups, lanes }, group, more)
  }

  function take(transaction: Transaction, isNew: boolean): void {
    restore(transaction)
    queued.add(transaction)
    if (isNew) events.emit('queued', { tx: context.txOf(transaction) })
    arm(transaction)
    session.replayCallerRequests(transaction)
    if (!hasFailed(transaction)) preparer.add(transaction)
  }

  function restore(transaction: Transaction): void {
    admission.seen(transaction.sequence)
    owned.add(transaction)
  }

  function enqueue(transaction: Transaction): void {
    queue.add(transaction)
    nonceAssigner.run()
  }

  /** Takes the transaction out of the queue. In the store it stays for the next leader of the lane. */
  function leave(transaction: Transaction): void {
    queued.delete(transaction)
    queue.remove(transaction)
  }

  function forget(transaction: Transaction): void {
    leave(transaction)
    if (hasFailed(transaction)) ended(transaction)
    owned.forget(transaction)
  }

  return {
    get open() {
      return queued.size
    },
    queuedOf: queued.of,
    refusal,
    add,
    waits: (transaction) => queued.has(transaction),
    abort: withdrawals.abort,
    reclaim: departures.reclaim,
    bound(id) {
      const transaction = transactions.get(id)
      if (transaction === undefined) return
      queued.delete(transaction)
      parts.taken(transaction)
    },
    again: (transaction) => void queued.add(transaction),
    place,
    failed: fail,
    due: withdrawals.expireIfDue,
    remove: withdrawals.remove,
    askEnd: withdrawals.cancel,
    hand: departures.hand,
    left: departures.left,
    forget,
    restore,
    asking: owned.asking,
    arrived: arrivals.arrived,
    trackFromStore: arrivals.trackFromStore,
    resume(transaction) {
      if (transaction.nonce === undefined) queued.add(transaction)
      arm(transaction)
      if (queued.has(transaction)) preparer.add(transaction)
    },
    close() {
      arrivals.close()
      for (const transaction of [...queued]) {
        if (store.durable) leave(transaction)
        else fail(transaction, txError(transaction, 'CLOSED', 'notExecuted', CLOSED))
      }
    },
  }
}

/** Queues and prepares the transactions that a leader admits. */
function createLeaderListener(
  context: {
    readonly events: Emitter
    readonly session: Pick<LaneSession, 'attachSignal'>
    txOf(transaction: Transaction): Tx
  },
  parts: {
    readonly owned: Pick<OwnedTransactions, 'mark'>
    readonly queued: Set<Transaction>
    readonly receiptAwaited: () => void
    /** A transaction was persisted with this sequence number. */
    readonly persisted: (sequence: number) => void
    /** Arms the caller's deadline. */
    readonly arm: (transaction: Transaction) => void
    readonly prepare: (transaction: Transaction) => void
    readonly ended: (transaction: Transaction) => void
    readonly onInDoubt: (id: string) => void
  },
): AdmissionListener {
  const { events, session } = context
  const { owned, queued, persisted, arm, prepare, ended } = parts
  return {
    onAdmitting(transaction) {
      owned.mark(transaction)
      queued.add(transaction)
      if (transaction.receiptWithinMs !== undefined) parts.receiptAwaited()
    },
    onAdmitted(transaction, { signal }) {
      persisted(transaction.sequence)
      events.emit('queued', { tx: context.txOf(transaction) })
      if (!hasFailed(transaction)) arm(transaction)
      session.attachSignal(transaction, signal)
      if (!hasFailed(transaction)) prepare(transaction)
    },
    onRejected(transaction) {
      queued.delete(transaction)
      if (hasFailed(transaction)) ended(transaction)
    },
    onInDoubt: parts.onInDoubt,
  }
}

type DeparturesContext = {
  readonly lane: Lane
  readonly changed: Set<Transaction>
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
}

/** Takes transactions out of the queue that need no nonce of this lane any more. */
function createDepartures(
  { lane, changed, handedOff }: DeparturesContext,
  parts: {
    readonly owned: Pick<OwnedTransactions, 'release'>
    /** Takes the transaction out of the queue. */
    readonly leave: (transaction: Transaction) => void
    /** Stops the preparation of the transaction. */
    readonly dropPreparation: (transaction: Transaction) => void
  },
): Pick<Intake, 'reclaim' | 'hand' | 'left'> {
  return {
    reclaim(transaction, nonce) {
      parts.leave(transaction)
      parts.dropPreparation(transaction)
      const { id: claim } = transaction
      for (const slot of unboundBy([...lane.book.slots.values()], nonce, claim))
        lane.apply(slot.nonce, { type: 'executedElsewhere', claim, token: lane.token() })
    },
    hand(transaction, to) {
      parts.leave(transaction)
      parts.dropPreparation(transaction)
      stopTimers(transaction)
      handedOff.set(transaction, handedTo(to, transaction))
      changed.add(transaction)
    },
    left(transaction) {
      handedOff.delete(transaction)
      parts.owned.release(transaction)
    },
  }
}

/** The stored fields for the lane that receives the transaction, as if it had been sent there. */
function handedTo(
  lane: LaneKey,
  { record: { lane: from, request, fingerprint, pooled = [] } }: Transaction,
): Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'> {
  return {
    lane,
    fingerprint: fingerprint === NO_FINGERPRINT ? NO_FINGERPRINT : fingerprintOf(lane.address, request),
    pooled: [...new Set([...pooled, from.address])],
  }
}
