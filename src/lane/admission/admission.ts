import type { Address } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { resolvePrivate } from '../../chain/endpoints/privateEndpoints.js'
import type { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { Clock, Random } from '../../platform/clock.js'
import { hasEnded, hasEndedUnexecuted, mayRestart } from '../../store/ended.js'
import type { SendOptions, TxRequest } from '../../types/index.js'
import type { Enqueued, Store, StoredTransaction } from '../../types/store.js'
import { feesAbove } from '../../validate/feeBounds.js'
import { excessGas } from '../../validate/validate.js'
import type { LaneSession } from '../session/laneSession.js'
import { tuplesOf, withTuples } from '../transaction/authorize.js'
import type { AdmissionTarget, Caller } from '../transaction/caller.js'
import { fromStored, refresh, toStored } from '../transaction/stored.js'
import { begin, drop, end, settleEnd, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { transactionOf } from '../transaction/txInternals.js'
import type { SignAuthorities } from './authorities.js'
import { endedError } from './endedError.js'
import { createEnqueueBatcher } from './enqueueBatcher.js'
import { fingerprintOf, idConflict, isSameRequest, NO_FINGERPRINT } from './idConflict.js'
import { randomId } from './randomId.js'

/** Receives the transactions that are admitted: the leader's intake, or a standby. */
export type AdmissionListener = {
  /** The transaction is new here. Called in the same event-loop turn in which that was found. */
  readonly onAdmitting: (transaction: Transaction) => void
  /** The transaction is persisted in the store and must be sent. */
  readonly onAdmitted: (transaction: Transaction, options: SendOptions) => void
  /** The transaction must not be sent after all. */
  readonly onRejected: (transaction: Transaction) => void
  /** The caller got an error with fate `inFlight`. If the store has the transaction, it must be sent. */
  readonly onInDoubt: (id: string) => void
}

/** The listener that receives the transaction, and the caller that requested it. */
export type AdmissionParties = { readonly listener: AdmissionListener; readonly caller: Caller }

/**
 * Turns requests into transactions of the lane, in a leader and in a standby. One id stands for one
 * transaction in every process.
 */
export type Admission = {
  /**
   * Admits a request. Calls the caller back once the transaction is persisted in the store, or with the
   * existing transaction if its id is known.
   */
  admit(request: TxRequest, options: SendOptions, target: AdmissionTarget, takers: AdmissionParties): void
  /** Admits no more requests. */
  close(): void
  /**
   * Resolves when the store has answered the current `enqueue` and the results are known here. Undefined if
   * no `enqueue` is running.
   */
  readonly keeping: Promise<void> | undefined
  /** Returns the sequence number (order of arrival) for one more transaction. */
  nextSequence(): number
  /** A transaction with this sequence number is known: later ones get higher numbers. */
  seen(sequence: number): void
}

/** A transaction that is being persisted, and the parties to notify. */
type Entry = {
  readonly transaction: Transaction
  readonly options: SendOptions
  readonly listener: AdmissionListener
  readonly caller: Caller
}

type Unknown = { readonly argument: string; readonly id: string }

const CLOSED = 'The sender was closed before it was sent.'
const NOWHERE: readonly Address[] = []
const NONE: readonly Unknown[] = []
/** For this long after a failed read the store counts as unreadable. */
const UNREADABLE_MS = 1_000

export function createAdmission(parts: {
  readonly session: LaneSession
  readonly endpointPool: Pick<EndpointPool, 'endpoints' | 'chain' | 'tracker'>
  readonly store: Pick<Store, 'enqueue' | 'find' | 'restart'>
  readonly random: Random
  readonly clock: Clock
  readonly authorities: SignAuthorities
  /** Whether the lane of this address on the same chain is open in this process. */
  readonly isOpen: (address: Address) => boolean
}): Admission {
  const { session, random, clock, authorities: signAuthorities } = parts
  const { transactions, key } = session
  const batcher = createEnqueueBatcher<Entry>(parts.store, clock, { kept, failed: notKept })
  let sequence = 0
  let closed = false
  let probing: Promise<unknown> | undefined
  let unreadableUntilMs = 0

  /** Not an async function: each `send` calls it, and most calls have nothing to await. */
  function admit(
    request: TxRequest,
    options: SendOptions,
    target: AdmissionTarget,
    takers: AdmissionParties,
  ): void {
    try {
      const transaction = create(withTuples(request, key.address), options, target)
      const unknown = options.after === undefined ? NONE : checkAfter(transaction, options.after)
      const others = tuplesOf(transaction.request).some(({ account }) => account !== undefined)
      const excess =
        excessGas(request, parts.endpointPool.chain, parts.endpointPool.tracker.newest) ??
        feesAbove(
          request,
          session.settings.groupCeiling(transaction.group)?.maxFeePerGas,
          'the ceiling of its group',
        )
      const asksNothing = unknown.length === 0 && !others && excess === undefined
      if (asksNothing || transactions.has(transaction.id)) return take(transaction, options, takers)
      admitAsking({ transaction, unknown, others, excess, request }, options, takers).catch(
        takers.caller.failed,
      )
    } catch (error) {
      takers.caller.failed(error)
    }
  }

  /**
   * Awaits the checks that need the store or other signers: the predecessors in `after` must be in the store,
   * and other accounts sign their delegations.
   */
  async function admitAsking(
    asked: {
      readonly transaction: Transaction
      readonly unknown: readonly Unknown[]
      readonly others: boolean
      readonly excess: TxlaneError | undefined
      readonly request: TxRequest
    },
    options: SendOptions,
    takers: AdmissionParties,
  ): Promise<void> {
    const { transaction, unknown, others, excess, request } = asked
    // An earlier send with the same id may have been admitted, when blocks had more gas or the ceiling of its
    // group was higher.
    if (excess && !(await isKept(options.id))) throw excess
    if (unknown.length > 0) await checkKnown(unknown, options.id)
    if (!others || transactions.has(transaction.id)) return take(transaction, options, takers)
    await signAuthorities(transaction.request, request.authorize, (own) =>
      take({ ...transaction, request: own }, options, takers),
    )
  }

  /** Runs in one event-loop turn. From here on the transaction is known in this process. */
  function take(
    transaction: Transaction,
    options: SendOptions,
    { listener, caller }: AdmissionParties,
  ): void {
    const known = transactions.get(transaction.id)
    if (known) return caller.kept(same(known, transaction))
    if (closed) throw closedBefore(transaction, options)
    transactions.set(transaction.id, transaction)
    listener.onAdmitting(transaction)
    if (options.again) transaction.again = true
    transaction.enqueuing = batcher.enqueue(toStored(transaction), { transaction, options, listener, caller })
  }

  function kept(entry: Entry, enqueued: Enqueued | undefined): Promise<void> | undefined {
    if (enqueued && beginsAnew(entry, enqueued)) return restart(entry, enqueued.transaction)
    entry.transaction.enqueuing = undefined
    drop(entry.transaction, 'again')
    try {
      entry.caller.kept(taken(entry, enqueued))
    } catch (error) {
      entry.caller.failed(error)
    }
    return undefined
  }

  /**
   * Whether the id stands for a transaction that ended without execution, and the caller asked for `again`.
   */
  function beginsAnew({ transaction, options }: Entry, { fresh, transaction: stored }: Enqueued): boolean {
    return !fresh && options.again === true && mayRestart(stored.stage) && isSameRequest(stored, transaction)
  }

  /**
   * Restarts the id. If several callers do that at once, the store accepts one and answers the others with
   * its transaction.
   */
  async function restart(entry: Entry, ended: StoredTransaction): Promise<void> {
    entry.transaction.life = (ended.life ?? 0) + 1
    await parts.store.restart(toStored(entry.transaction), ended).then(
      (enqueued) => kept(entry, enqueued),
      (error: unknown) => notKept(entry, error),
    )
  }

  function taken(entry: Entry, enqueued: Enqueued | undefined): Transaction {
    const { transaction, options, listener } = entry
    try {
      if (enqueued === undefined) throw refused(transaction, closedBefore(transaction, options))
      if (!enqueued.fresh && hasEndedUnexecuted(enqueued.transaction.stage))
        throw endedBefore(transaction, enqueued.transaction)
      if (enqueued.transaction.lane.address !== key.address) return elsewhere(entry, enqueued.transaction)
      if (enqueued.fresh) transaction.sequence = enqueued.transaction.sequence
      else become(transaction, enqueued.transaction)
    } catch (error) {
      listener.onRejected(transaction)
      throw error
    }
    seen(transaction.sequence)
    // If the transaction was persisted but never picked up, because the answer of the store was lost, it is
    // picked up now.
    if (enqueued.transaction.stage === 'queued') listener.onAdmitted(transaction, options)
    else listener.onRejected(transaction)
    return transaction
  }

  /** Another account sends the transaction, or has sent it. */
  function elsewhere({ transaction, listener }: Entry, stored: StoredTransaction): Transaction {
    checkSame(stored, transaction)
    // If that lane is open here, the sender pool asks that lane.
    const stray = parts.isOpen(stored.lane.address) ? undefined : session.handedOff?.take(transaction, stored)
    if (stray === undefined) throw conflict(stored, transaction)
    forget(transaction)
    listener.onRejected(transaction)
    return stray
  }

  function seen(known: number): void {
    sequence = Math.max(sequence, known)
  }

  async function notKept({ transaction, options, listener, caller }: Entry, cause: unknown): Promise<void> {
    const error = refused(transaction, await storeError(transaction, options, cause))
    transaction.enqueuing = undefined
    listener.onRejected(transaction)
    if (error.fate === 'inFlight') listener.onInDoubt(transaction.id)
    caller.failed(error)
  }

  /**
   * If it is unknown whether the store has the transaction, the fate is `inFlight`: a later process may find
   * and send it.
   */
  async function storeError(
    transaction: Transaction,
    options: SendOptions,
    cause: unknown,
  ): Promise<TxlaneError> {
    const unknown = (cause as { details?: unknown } | undefined)?.details === 'unknown'
    const message = 'The store did not take the transaction.'
    const isThere = unknown || (options.id !== undefined && (await mayBeThere(options.id)))
    return txError(transaction, 'STORE', isThere ? 'inFlight' : 'notExecuted', message, cause)
  }

  /**
   * A store that cannot be read either is asked only once per `UNREADABLE_MS`, however many transactions it
   * refuses.
   */
  async function mayBeThere(id: string): Promise<boolean> {
    if (probing) await probing
    if (clock.now() < unreadableUntilMs) return true
    const found = parts.store.find(key, { id }).then(
      (stored) => stored !== undefined,
      () => {
        unreadableUntilMs = clock.now() + UNREADABLE_MS
        return true
      },
    )
    probing ??= found.finally(() => {
      probing = undefined
    })
    return found
  }

  /**
   * The transaction was not admitted. Other callers may have found it by its id meanwhile, and their waits
   * must end too.
   */
  function refused(transaction: Transaction, error: TxlaneError): TxlaneError {
    end(transaction, error, clock)
    forget(transaction)
    settleEnd(transaction)
    return error
  }

  /**
   * The id stands for an ended transaction. Callers that found this one by its id meanwhile get the same end.
   */
  function endedBefore(transaction: Transaction, stored: StoredTransaction): TxlaneError {
    checkSame(stored, transaction)
    refresh(transaction, stored)
    forget(transaction)
    settleEnd(transaction)
    return endedError(fromStored(stored))
  }

  /**
   * The store knows the id from an earlier time or another process. Waits for this transaction now wait for
   * the stored one.
   */
  function become(transaction: Transaction, stored: StoredTransaction): void {
    checkSame(stored, transaction)
    // The first caller made it private and set the gas that a private transaction needs.
    if (stored.private && !transaction.private) refresh(transaction, stored)
    if (stored.stage === 'queued') {
      transaction.sequence = stored.sequence
      transaction.life = stored.life
      return
    }
    // The stage was updated meanwhile, and is newer than this delayed answer.
    if (transaction.stage !== 'queued') return
    refresh(transaction, stored)
    if (!hasEnded(stored.stage)) return
    forget(transaction)
    settleEnd(transaction)
  }

  function checkSame(stored: StoredTransaction, transaction: Transaction): void {
    if (!isSameRequest(stored, transaction)) throw conflict(stored, transaction)
  }

  function conflict(stored: StoredTransaction, transaction: Transaction): TxlaneError {
    const error = idConflict(fromStored(stored), transaction)
    const { tx } = error
    // `tx` describes the transaction that the id stands for. This one's description would say how it ended.
    return Object.assign(refused(transaction, error), { tx })
  }

  function forget(transaction: Transaction): void {
    if (transactions.get(transaction.id) === transaction) transactions.delete(transaction.id)
  }

  /**
   * Checks that each predecessor in `after` was known before the transaction, so that there can be no cycle.
   * Returns the ids that this process does not know.
   */
  function checkAfter({ id, replaces }: Transaction, after: readonly unknown[]): Unknown[] {
    const unknown: Unknown[] = []
    for (const [index, one] of after.entries()) {
      const argument = `options.after[${index}]`
      const given = transactionOf(one)
      const of = given?.id ?? (one as string)
      if (of === id) throw invalid(argument, of, 'another transaction than itself')
      if (of === replaces?.id) throw invalid(argument, of, 'another transaction than the one it replaces')
      if (given === undefined && !transactions.has(of)) unknown.push({ argument, id: of })
      if (given === undefined) continue
      const { chainId, genesisHash } = given.lane
      if (chainId !== key.chainId || genesisHash !== key.genesisHash)
        throw invalid(argument, of, `a transaction of chain ${key.chainId}; this one is of chain ${chainId}`)
    }
    return unknown
  }

  async function checkKnown(unknown: readonly Unknown[], own: string | undefined): Promise<void> {
    for (const { argument, id } of unknown) {
      if (await isKept(id)) continue
      // An earlier send with the same id may have outlived the records of its predecessors.
      if (await isKept(own)) return
      const expected = 'the id of a transaction that was sent before, on this chain and in this store'
      throw invalid(argument, id, expected)
    }
  }

  async function isKept(id: string | undefined): Promise<boolean> {
    return id !== undefined && (await parts.store.find(key, { id })) !== undefined
  }

  function create(request: TxRequest, options: SendOptions, target: AdmissionTarget): Transaction {
    const { replaces, follows } = target
    const { after, afterStage, afterStatus, deploys, effect } = options
    const isPrivate = resolvePrivate(parts.endpointPool, request, options, replaces)
    const needy =
      after !== undefined || deploys !== undefined || effect !== undefined || follows !== undefined
    return begin({
      id: options.id ?? randomId(random),
      lane: key,
      request,
      // A generated id is not used for a second request, so only ids of callers need a fingerprint.
      fingerprint: options.id === undefined ? NO_FINGERPRINT : fingerprintOf(key.address, request),
      sequence: ++sequence,
      priority: options.priority ?? 0,
      feeCeiling: options.feeCeiling,
      feePreset: options.feePreset ?? replaces?.feePreset,
      createdAtMs: clock.wallNow(),
      expiresAtMs: options.expires?.atMs,
      onExpiry: options.onExpiry ?? 'leave',
      private: isPrivate ? true : undefined,
      order: (options.order ?? replaces?.order) === 'strict' ? 'strict' : undefined,
      starved: (options.starved ?? replaces?.starved) === 'fail' ? 'fail' : undefined,
      pooled: target.pooled ? NOWHERE : undefined,
      group: options.group ?? replaces?.group,
      needs: needy
        ? { after, afterStage, afterStatus, deploys, effect, ...(follows === undefined ? {} : { follows }) }
        : undefined,
      replaces,
      replacesId: replaces?.id,
    })
  }

  return {
    admit,
    close() {
      closed = true
      batcher.close()
    },
    get keeping() {
      return batcher.asked
    },
    nextSequence: () => ++sequence,
    seen,
  }
}

function same(known: Transaction, asked: Transaction): Transaction {
  if (isSameRequest(known, asked)) return known
  throw idConflict(known, asked)
}

/** A caller's own id may be in the store from an earlier process, which may have sent the transaction. */
function closedBefore(transaction: Transaction, { id }: SendOptions): TxlaneError {
  return txError(transaction, 'CLOSED', id === undefined ? 'notExecuted' : 'inFlight', CLOSED)
}
