import type { Address } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { Clock, Random } from '../../platform/clock.js'
import type { SendOptions, TxRequest } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { excessGas } from '../../validate/validate.js'
import { feesAbove } from '../../validate/validateFees.js'
import type { LaneSession } from '../session/laneSession.js'
import { tuplesOf, withTuples } from '../transaction/authorize.js'
import type { AdmissionTarget, Caller } from '../transaction/caller.js'
import { update } from '../transaction/changes.js'
import { toStored } from '../transaction/stored.js'
import type { Transaction } from '../transaction/transaction.js'
import { transactionOf } from '../transaction/txInternals.js'
import type { SignAuthorities } from './authorities.js'
import { createEnqueueBatcher } from './enqueueBatcher.js'
import { idConflict, isSameRequest } from './idConflict.js'
import { createNewTransaction } from './newTransaction.js'
import { closedBeforeSend, createPersistence, type Persisting } from './persistence.js'

/**
 * Turns requests into transactions of the lane, in a leader and in a standby. One id stands for one
 * transaction in every process.
 */
export type Admission = {
  /**
   * Admits a request. Calls the caller back once the transaction is persisted in the store, or with the
   * existing transaction if its id is known.
   */
  admit(request: TxRequest, options: SendOptions, target: AdmissionTarget, parties: AdmissionParties): void
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
type AdmissionParties = { readonly listener: AdmissionListener; readonly caller: Caller }

/** A predecessor that this process does not know, and the argument that names it. */
type UnknownPredecessor = { readonly argument: string; readonly id: string }

const NO_UNKNOWNS: readonly UnknownPredecessor[] = []

/** A request that cannot be admitted before the store or another signer has answered. */
type Unready = {
  readonly transaction: Transaction
  readonly request: TxRequest
  readonly unknown: readonly UnknownPredecessor[]
  /** Whether other accounts have to sign delegations. */
  readonly hasAuthorities: boolean
  readonly excess: TxlaneError | undefined
}

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
  const { session, endpointPool, store, random, clock, isOpen } = parts
  const { transactions, key } = session
  let highestSequence = 0
  const newTransaction = createNewTransaction({
    key,
    endpointPool,
    clock,
    random,
    nextSequence,
  })
  const persistence = createPersistence({ session, store, clock, seen, isOpen })
  const batcher = createEnqueueBatcher<Persisting>(store, clock, persistence)
  let closed = false

  /** Not an async function: each `send` calls it, and most calls have nothing to await. */
  function admit(
    request: TxRequest,
    options: SendOptions,
    target: AdmissionTarget,
    parties: AdmissionParties,
  ): void {
    try {
      const transaction = newTransaction(withTuples(request, key.address), options, target)
      const unknown =
        options.after === undefined ? NO_UNKNOWNS : unknownPredecessors(transaction, options.after, session)
      const hasAuthorities = tuplesOf(transaction.request).some(({ account }) => account !== undefined)
      const excess =
        excessGas(request, endpointPool.chain, endpointPool.tracker.newest) ??
        feesAbove(
          request,
          session.settings.groupCeiling(transaction.group)?.maxFeePerGas,
          'the ceiling of its group',
        )
      const isReady = unknown.length === 0 && !hasAuthorities && excess === undefined
      if (isReady || transactions.has(transaction.id)) return persist(transaction, options, parties)
      const unready = { transaction, request, unknown, hasAuthorities, excess }
      admitUnready(unready, options, parties).catch(parties.caller.failed)
    } catch (error) {
      parties.caller.failed(error)
    }
  }

  /**
   * Awaits the checks that need the store or other signers: the predecessors in `after` must be in the store,
   * and other accounts sign their delegations.
   */
  async function admitUnready(
    { transaction, request, unknown, hasAuthorities, excess }: Unready,
    options: SendOptions,
    parties: AdmissionParties,
  ): Promise<void> {
    // An earlier send with the same id may have been admitted, when blocks had more gas or the ceiling of its
    // group was higher.
    if (excess && !(await isStored(options.id))) throw excess
    if (unknown.length > 0) await assertStored(unknown, options.id, isStored)
    if (!hasAuthorities || transactions.has(transaction.id)) return persist(transaction, options, parties)
    await parts.authorities(transaction.request, request.authorize, (own) => {
      update(transaction, { request: own })
      persist(transaction, options, parties)
    })
  }

  /** Runs in one event-loop turn. From here on the transaction is known in this process. */
  function persist(
    transaction: Transaction,
    options: SendOptions,
    { listener, caller }: AdmissionParties,
  ): void {
    const known = transactions.get(transaction.id)
    if (known) {
      if (!isSameRequest(known.record, transaction.record)) throw idConflict(known, transaction)
      return caller.persisted(known)
    }
    if (closed) throw closedBeforeSend(transaction, options)
    transactions.set(transaction.id, transaction)
    listener.onAdmitting(transaction)
    if (options.again) transaction.again = true
    transaction.enqueuing = batcher.enqueue(toStored(transaction), { transaction, options, listener, caller })
  }

  function nextSequence(): number {
    return ++highestSequence
  }

  function seen(sequence: number): void {
    highestSequence = Math.max(highestSequence, sequence)
  }

  async function isStored(id: string | undefined): Promise<boolean> {
    return id !== undefined && (await store.find(key, { id })) !== undefined
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
    nextSequence,
    seen,
  }
}

/**
 * Checks that each predecessor in `after` was known before the transaction, so that there can be no cycle.
 * Returns the predecessors that this process does not know.
 *
 * @throws TxlaneError `INVALID` if a predecessor is impossible
 */
function unknownPredecessors(
  { id, replaces }: Transaction,
  after: readonly unknown[],
  { key, transactions }: Pick<LaneSession, 'key' | 'transactions'>,
): readonly UnknownPredecessor[] {
  const unknown: UnknownPredecessor[] = []
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

/**
 * Checks that the store has the predecessors.
 *
 * @throws TxlaneError `INVALID` if it has not, unless it has `own`, the id of the caller
 */
async function assertStored(
  unknown: readonly UnknownPredecessor[],
  own: string | undefined,
  isStored: (id: string | undefined) => Promise<boolean>,
): Promise<void> {
  for (const { argument, id } of unknown) {
    if (await isStored(id)) continue
    // An earlier send with the same id may have outlived the records of its predecessors.
    if (await isStored(own)) return
    const expected = 'the id of a transaction that was sent before, on this chain and in this store'
    throw invalid(argument, id, expected)
  }
}

/**
 * With a full queue no new transaction is admitted, but a known id is accepted.
 * @throws `full` if the id is not known
 */
export async function requireKnown(
  { store, session }: { readonly store: Pick<Store, 'find'>; readonly session: LaneSession },
  id: string | undefined,
  full: TxlaneError,
): Promise<void> {
  if (id !== undefined && session.transactions.has(id)) return
  if (id !== undefined && (await store.find(session.key, { id }))) return
  throw full
}
