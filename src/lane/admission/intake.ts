import type { TxlaneError } from '../../errors/base.js'
import type { GroupPolicy, Limits, SendOptions, TxRequest } from '../../types/index.js'
import type { LaneKey, StoredTransaction } from '../../types/store.js'
import { GroupedSet, queueRefusal } from '../queue/groups.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { NonceAssigner } from '../signing/nonceAssigner.js'
import type { AdmissionTarget, Caller } from '../transaction/caller.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { Admission } from './admission.js'
import { type ArrivalsContext, createArrivals } from './arrivals.js'
import { createDepartures, type DeparturesContext } from './departures.js'
import { createDoubted } from './doubted.js'
import { createLeaderListener } from './leaderListener.js'
import { createOwnedTransactions } from './ownedTransactions.js'
import type { Preparer } from './prepare.js'
import { createReplacements, type ReplacementsContext } from './replacements.js'
import { requireKnown } from './requireKnown.js'
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
  /** A transaction was persisted with this sequence number. */
  kept(sequence: number): void
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
    kept: parts.kept,
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
