import type { Address } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import type { Clock, Random } from '../../platform/clock.js'
import type { SendOptions, TxRequest } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { excessGas } from '../../validate/validate.js'
import { feesAbove } from '../../validate/validateFees.js'
import type { LaneSession } from '../session/laneSession.js'
import { tuplesOf, withTuples } from '../transaction/authorize.js'
import type { AdmissionTarget } from '../transaction/caller.js'
import { update } from '../transaction/changes.js'
import { toStored } from '../transaction/stored.js'
import type { Transaction } from '../transaction/transaction.js'
import type { AdmissionParties } from './admissionListener.js'
import type { SignAuthorities } from './authorities.js'
import { createEnqueueBatcher } from './enqueueBatcher.js'
import { idConflict, isSameRequest } from './idConflict.js'
import { createNewTransaction } from './newTransaction.js'
import { closedBeforeSend, createPersistence, type Persisting } from './persistence.js'
import { createPredecessors, type UnknownPredecessor } from './predecessors.js'
import { createSequenceNumbers } from './sequenceNumbers.js'
import { createStoreFailures } from './storeFailures.js'

export type { AdmissionListener } from './admissionListener.js'

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
  const sequences = createSequenceNumbers()
  const newTransaction = createNewTransaction({
    key,
    endpointPool,
    clock,
    random,
    nextSequence: sequences.next,
  })
  const predecessors = createPredecessors(session, isStored)
  const storeFailure = createStoreFailures(store, key, clock)
  const persistence = createPersistence({ session, store, clock, storeFailure, seen: sequences.seen, isOpen })
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
        options.after === undefined ? NO_UNKNOWNS : predecessors.unknownOf(transaction, options.after)
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
    if (unknown.length > 0) await predecessors.assertStored(unknown, options.id)
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
      return caller.kept(known)
    }
    if (closed) throw closedBeforeSend(transaction, options)
    transactions.set(transaction.id, transaction)
    listener.onAdmitting(transaction)
    if (options.again) transaction.again = true
    transaction.enqueuing = batcher.enqueue(toStored(transaction), { transaction, options, listener, caller })
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
    nextSequence: sequences.next,
    seen: sequences.seen,
  }
}
