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

/** Where transactions come in, and where those that have no nonce yet go out again. */
export type Intake = {
  /** Queued transactions: they have no nonce and have not ended. */
  readonly open: number
  /** Those of a group. */
  queuedOf(group: string): number
  /** The error for so many more of a group, one by default; undefined where they are taken on. */
  refusal(group: string | undefined, more?: number): TxlaneError | undefined
  /** Tells once it is kept in the store; of the one that is there already where the id is known. */
  add(request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void
  /** It has neither a nonce nor an end, and is not left to others. */
  waits(transaction: Transaction): boolean
  /** Its caller does not want it any more. Nothing where it is known that it is on its way. */
  abort(transaction: Transaction): void
  /** It has a nonce. */
  bound(id: string): void
  /** It has none any more. */
  again(transaction: Transaction): void
  /**
   * It, or what it replaced, has executed at the nonce, which was believed lost: it neither waits nor stays bound elsewhere.
   * Where a block shows that it executed elsewhere, that counts: it is not bound at the nonce.
   */
  reclaim(transaction: Transaction, nonce: number): void
  /** Prepared, and to go to the nonce of what it replaces. */
  place(transaction: Transaction): void
  /** Ends one that has no nonce. */
  failed(transaction: Transaction, error: TxlaneError): void
  /** It is about to get a nonce: ends it where its deadline has passed, whether or not its timer has fired. */
  due(transaction: Transaction): void
  /**
   * Ends one for which nothing is journaled. False where bytes may be out already: a commit in flight counts.
   */
  remove(transaction: Transaction, error: TxlaneError): boolean
  /** Asks for a cancel of one that is journaled; the answer comes with the chain's verdict. */
  askEnd(transaction: Transaction): void
  /** It waits here, and goes to another lane of its pool with the next write. */
  hand(transaction: Transaction, to: LaneKey): void
  /** It is another lane's by now. */
  left(transaction: Transaction): void
  forget(transaction: Transaction): void
  /** Knows again what was read from the store. */
  restore(transaction: Transaction): void
  /** The store is about to be asked for what arrived: what ends from now on may still be queued in its answer. */
  asking(): void
  /** Another process left it in the store for this one to send. Nothing where it is known already. */
  arrived(stored: StoredTransaction): Promise<void>
  /** Somebody here has it, who read in the store that it is queued. It comes with what arrives, or has come and ended. */
  met(transaction: Transaction): void
  /** Takes it up where it stands: with a nonce it goes on by itself, without one it is queued. */
  resume(transaction: Transaction): void
  /**
   * From now on nothing is taken on. What has no nonce ends, or stays in a store that outlives this process, for
   * whoever works the lane next.
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
  /** Nothing stands above this nonce but what its own tuples use. */
  isTop(nonce: number): boolean
  /** It takes a nonce, maybe before others that were called earlier. */
  taken(transaction: Transaction): void
  /** It has its place in the order of arrival. */
  kept(sequence: number): void
  /** It ended without execution. */
  ended(transaction: Transaction): void
}): Intake {
  const { context, queue, preparer, nonceAssigner } = parts
  const { lane, session, admission, transactions, events, limits, clock, store } = context
  const queued = new GroupedSet()
  // On transactions that are worked here: others are known to somebody in this process, and no more.
  const me = {}
  // Forgotten since the store was asked last, with their places: its answer may be from before.
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

  /** A deadline that the caller set. Where another process takes the lane over, it is that one's to keep. */
  function arm(transaction: Transaction): void {
    const { expiresAtMs } = transaction
    if (expiresAtMs === undefined) return
    deadlines.set(transaction, expiresAtMs)
    transaction.cancelTimers = () => deadlines.forget(transaction)
  }

  function expire(transaction: Transaction): void {
    giveUp(transaction, 'EXPIRED', 'It expired.', transaction.onExpiry === 'cancel')
  }

  /** Not journaled: removed. Journaled: the pending `send` is told, the work goes on. */
  function giveUp(
    transaction: Transaction,
    code: 'EXPIRED' | 'ABORTED',
    message: string,
    cancel: boolean,
  ): void {
    // The lane that it goes to gives it up.
    if (context.closed || context.handedOff.has(transaction)) return
    if (remove(transaction, txError(transaction, code, 'notExecuted', message))) return
    const still = `${message} Its bytes were journaled: it may still execute.`
    rejectSenders(transaction, txError(transaction, code, 'inFlight', still))
    if (cancel) askEnd(transaction)
  }

  /** Row 21. What was replaced already ends by itself: a cancel of it must not reach its replacement. */
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
    // What a lane that was given away finds out is not its to tell.
    if (hasFailed(transaction) || context.closed) return
    queued.delete(transaction)
    queue.remove(transaction)
    endWith(context, transaction, error, forget)
    // At once: all that ends with it is in the store with one write.
    parts.ended(transaction)
    nonceAssigner.run()
  }

  /** Row 22, unless what was to be replaced has meanwhile gone another way. */
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
      // A commit under way counts as journaled: its answer decides, and then this is asked again.
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

  /** It stays in the store for whoever works the lane next. */
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
    // Somebody here may have sent it, or asked for it, before the lane came into this process, or in another lane.
    const former = transactions.get(stored.id)
    // One that ended is not this one: it began anew, in another process.
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
    // What has left for another lane may come back, to another place.
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
