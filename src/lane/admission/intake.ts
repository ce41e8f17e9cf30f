import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import { lastClaim, unboundBy } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { hasEnded } from '../../store/ended.js'
import type { GroupPolicy, Limits, SendOptions, Tx, TxRequest } from '../../types/index.js'
import type { LaneKey, Store, StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import { GroupedSet, queueRefusal } from '../queue/groups.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { LaneSession } from '../session/laneSession.js'
import type { NonceAssigner } from '../signing/nonceAssigner.js'
import { ownTuples } from '../transaction/authorize.js'
import type { AdmissionTarget, Caller } from '../transaction/caller.js'
import { fromStored, refresh } from '../transaction/stored.js'
import { drop, hasFailed, type Transaction } from '../transaction/transaction.js'
import { endWith, follow } from '../transaction/transactionEvents.js'
import { txError } from '../transaction/txError.js'
import { rejectSenders } from '../transaction/waiters.js'
import type { Admission, AdmissionListener } from './admission.js'
import { createDoubted } from './doubted.js'
import { handedTo } from './handedTo.js'
import type { Preparer } from './prepare.js'
import { requireKnown } from './requireKnown.js'
import { createWallDeadlines } from './wallDeadlines.js'

type IntakeContext = {
  readonly lane: Lane
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
  txOf(transaction: Transaction): Tx
  readonly session: LaneSession
  readonly admission: Admission
  readonly closed: boolean
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
  met(transaction: Transaction): void
  /** Resumes the transaction. With a nonce it goes on by itself, without one it is queued. */
  resume(transaction: Transaction): void
  /**
   * Admits nothing from now on. Transactions without a nonce end, or stay in a durable store for the next
   * leader.
   */
  close(): void
}

const LOOK_AGAIN_MS = 1_000
const CLOSED = 'The sender was closed before it was sent.'
const NOT_TOP = 'The nonces that its authorizations take have been given to others.'

export function createIntake(parts: {
  context: IntakeContext
  queue: PendingQueue<Transaction>
  preparer: Preparer
  nonceAssigner: NonceAssigner
  groups: GroupPolicy | undefined
  /** Whether no nonce above this one is in use, except those of its own tuples. */
  isTop(nonce: number): boolean
  /** The transaction takes a nonce, maybe before earlier calls. */
  taken(transaction: Transaction): void
  /** A transaction was persisted with this sequence number. */
  kept(sequence: number): void
  /** The transaction ended without execution. */
  ended(transaction: Transaction): void
}): Intake {
  const { context, queue, preparer, nonceAssigner } = parts
  const { lane, session, admission, transactions, events, limits, clock, store } = context
  const queued = new GroupedSet()
  // Marks the transactions that this intake owns. Others are only known to a caller of this process.
  const me = {}
  // Ids (with sequence numbers) that were forgotten since the last read of the store, whose answer may be
  // older.
  const forgotten = new Map<string, number>()
  const deadlines = createWallDeadlines({ clock, due: expire })
  let closed = false

  const listener: AdmissionListener = {
    onAdmitting(transaction) {
      transaction.owner = me
      queued.add(transaction)
    },
    onAdmitted(transaction, { signal }) {
      parts.kept(transaction.sequence)
      events.emit('queued', { tx: context.txOf(transaction) })
      if (!hasFailed(transaction)) arm(transaction)
      session.attachSignal(transaction, signal)
      if (!hasFailed(transaction)) preparer.add(transaction)
    },
    onRejected(transaction) {
      queued.delete(transaction)
      if (hasFailed(transaction)) parts.ended(transaction)
    },
    onInDoubt: createDoubted(context, arrived),
  }

  function add(request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void {
    const full = refusal(options.group)
    if (full === undefined) return admission.admit(request, options, target, { listener, caller })
    requireKnown(context, options.id, full)
      .then(() => admission.admit(request, options, target, { listener, caller }))
      .catch(caller.failed)
  }

  function refusal(group: string | undefined, more?: number): TxlaneError | undefined {
    const lanes = session.rebalancing?.lanes() ?? [{ queued: queued.of }]
    const { queueMax } = limits
    return queueRefusal({ size: queued.size, queueMax, policy: parts.groups, lanes }, group, more)
  }

  async function known(id: string): Promise<Transaction | undefined> {
    const here = transactions.get(id)
    if (here !== undefined) return here
    const stored = await store.find(lane.key, { id })
    return stored && fromStored(stored)
  }

  /** Arms the caller's deadline. If another process becomes the leader, that process enforces it. */
  function arm(transaction: Transaction): void {
    const { expiresAtMs } = transaction
    if (expiresAtMs === undefined) return
    deadlines.set(transaction, expiresAtMs)
    transaction.cancelTimers = () => deadlines.forget(transaction)
  }

  function expire(transaction: Transaction): void {
    giveUp(transaction, 'EXPIRED', 'It expired.', transaction.onExpiry === 'cancel')
  }

  /**
   * Removes the transaction if it is not journaled. Otherwise the pending `send` rejects, and the work goes
   * on.
   */
  function giveUp(
    transaction: Transaction,
    code: 'EXPIRED' | 'ABORTED',
    message: string,
    cancel: boolean,
  ): void {
    // The lane that receives the transaction ends it.
    if (context.closed || context.handedOff.has(transaction)) return
    if (remove(transaction, txError(transaction, code, 'notExecuted', message))) return
    const still = `${message} Its bytes were journaled: it may still execute.`
    rejectSenders(transaction, txError(transaction, code, 'inFlight', still))
    if (cancel) askEnd(transaction)
  }

  /** Row 21. A transaction that was replaced ends by itself; cancelling it must not hit its replacement. */
  function askEnd(transaction: Transaction): void {
    const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
    if (slot === undefined || lastClaim(slot) !== transaction.id) return
    lane.apply(slot.nonce, { type: 'cancel', token: lane.token() })
  }

  function remove(transaction: Transaction, error: TxlaneError): boolean {
    if (hasFailed(transaction)) return true
    if (queued.has(transaction)) {
      failed(transaction, error)
      return true
    }
    const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
    if (slot?.state !== 'reserved' || slot.claim !== transaction.id) return false
    transaction.withdrawError = error
    const { row } = lane.apply(slot.nonce, { type: 'withdraw', claim: transaction.id, why: 'failed' })
    if (row === 0) drop(transaction, 'withdrawError')
    return row !== 0
  }

  function failed(transaction: Transaction, error: TxlaneError): void {
    // A lane that lost its lease must not report outcomes.
    if (hasFailed(transaction) || context.closed) return
    queued.delete(transaction)
    queue.remove(transaction)
    endWith(context, transaction, error, forget)
    // Called at once, so that one write stores all transactions that end with this one.
    parts.ended(transaction)
    nonceAssigner.run()
  }

  /** Row 22, unless the transaction to replace has meanwhile changed its state. */
  function place(transaction: Transaction): void {
    const { replaces } = transaction
    const nonce = replaces?.nonce
    const slot = nonce === undefined ? undefined : lane.book.get(nonce)
    if (replaces === undefined || hasFailed(transaction) || context.closed) return
    if (
      nonce !== undefined &&
      slot?.state === 'live' &&
      slot.end === undefined &&
      slot.claims.includes(replaces.id)
    ) {
      if (ownTuples(transaction.request) > 0 && !parts.isTop(nonce))
        return failed(transaction, txError(transaction, 'UNSUPPORTED', 'notExecuted', NOT_TOP))
      queued.delete(transaction)
      transaction.nonce = nonce
      lane.apply(nonce, { type: 'replace', claim: transaction.id, token: lane.token() })
      events.emit('replaced', { tx: context.txOf(replaces) })
      return
    }
    if (slot?.state === 'reserved' && slot.claim === replaces.id) {
      const superseded = txError(replaces, 'SUPERSEDED', 'notExecuted', 'Its replacement took its place.')
      // A commit in flight counts as journaled. Its answer decides, so try again afterwards.
      if (!remove(replaces, superseded)) return void lane.journal.flushed().then(() => place(transaction))
    }
    if (queued.has(replaces)) {
      failed(replaces, txError(replaces, 'SUPERSEDED', 'notExecuted', 'Its replacement took its place.'))
    }
    if (replaces.failure?.code === 'SUPERSEDED') {
      replaces.supersededBy ??= transaction.id
      queue.add(transaction)
      return nonceAssigner.run()
    }
    failed(
      transaction,
      txError(transaction, 'TOO_LATE', 'notExecuted', 'The transaction that it was to replace has landed or ended.'),
    )
  }

  function forget(transaction: Transaction): void {
    queued.delete(transaction)
    queue.remove(transaction)
    if (hasFailed(transaction)) parts.ended(transaction)
    if (transactions.get(transaction.id) !== transaction) return
    transactions.delete(transaction.id)
    forgotten.set(transaction.id, transaction.sequence)
  }

  /** Leaves the transaction in the store for the next leader of the lane. */
  function leave(transaction: Transaction): void {
    queued.delete(transaction)
    queue.remove(transaction)
  }

  async function lookAgain(transaction: Transaction): Promise<void> {
    await lane.journal.flushed()
    const stored = await store.find(lane.key, { id: transaction.id })
    if (stored === undefined || transaction.owner === me || context.closed) return
    if (stored.lane.address !== lane.key.address) return session.handedOff?.add(transaction, stored)
    if (stored.stage === 'queued') return
    follow(session, transaction, stored)
    if (hasEnded(stored.stage)) forget(transaction)
  }

  async function arrived(stored: StoredTransaction): Promise<void> {
    if (stored.stage !== 'queued' || isMine(stored)) return
    const replaces = stored.replaces === undefined ? undefined : await known(stored.replaces)
    if (closed || context.closed || isMine(stored)) return
    // A caller of this process may have it already: from before the lane opened here, or from another lane.
    const former = transactions.get(stored.id)
    // If that one ended, another process has restarted the id, and this is another transaction.
    const here = former && !hasFailed(former) ? former : session.adopt(stored)
    const transaction = here ?? { ...fromStored(stored), replaces }
    if (here) refresh(here, stored)
    transaction.replaces ??= replaces
    transaction.watchedRemotely = true
    admission.seen(transaction.sequence)
    transaction.owner = me
    transactions.set(transaction.id, transaction)
    queued.add(transaction)
    if (here === undefined) events.emit('queued', { tx: context.txOf(transaction) })
    arm(transaction)
    session.replayCallerRequests(transaction)
    if (!hasFailed(transaction)) preparer.add(transaction)
  }

  const isMine = ({ id, sequence }: StoredTransaction): boolean => {
    const here = transactions.get(id)
    // A transaction that was handed to another lane may come back with another sequence number.
    if ((forgotten.get(id) ?? -1) >= sequence) return true
    return here?.owner === me && !(hasFailed(here) && here.sequence < sequence)
  }

  return {
    get open() {
      return queued.size
    },
    queuedOf: queued.of,
    refusal,
    add,
    waits: (transaction) => queued.has(transaction),
    abort: (transaction) => giveUp(transaction, 'ABORTED', 'It was aborted.', false),
    reclaim(transaction, nonce) {
      leave(transaction)
      preparer.drop(transaction)
      const { id: claim } = transaction
      for (const slot of unboundBy([...lane.book.slots.values()], nonce, claim))
        lane.apply(slot.nonce, { type: 'executedElsewhere', claim, token: lane.token() })
    },
    bound(id) {
      const transaction = transactions.get(id)
      if (transaction === undefined) return
      queued.delete(transaction)
      parts.taken(transaction)
    },
    again: (transaction) => void queued.add(transaction),
    place,
    failed,
    due(transaction) {
      if (clock.wallNow() >= (transaction.expiresAtMs ?? Number.POSITIVE_INFINITY)) expire(transaction)
    },
    remove,
    askEnd,
    hand(transaction, to) {
      leave(transaction)
      preparer.drop(transaction)
      transaction.cancelTimers?.()
      drop(transaction, 'cancelTimers')
      context.handedOff.set(transaction, handedTo(to, transaction))
      context.changed.add(transaction)
    },
    left(transaction) {
      context.handedOff.delete(transaction)
      if (transaction.owner === me) transaction.owner = undefined
      forgotten.set(transaction.id, transaction.sequence)
    },
    forget,
    restore(transaction) {
      admission.seen(transaction.sequence)
      transaction.owner = me
      transactions.set(transaction.id, transaction)
    },
    asking: () => forgotten.clear(),
    arrived,
    met(transaction) {
      transactions.set(transaction.id, transaction)
      const look = () => {
        void lookAgain(transaction).catch((error: unknown) => {
          reportError(context, error)
          clock.setTimer(look, LOOK_AGAIN_MS)
        })
      }
      look()
    },
    resume(transaction) {
      if (transaction.nonce === undefined) queued.add(transaction)
      arm(transaction)
      if (queued.has(transaction)) preparer.add(transaction)
    },
    close() {
      closed = true
      for (const transaction of [...queued]) {
        if (store.durable) leave(transaction)
        else failed(transaction, txError(transaction, 'CLOSED', 'notExecuted', CLOSED))
      }
    },
  }
}
