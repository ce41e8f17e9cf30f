import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { isTxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { hold } from '../../platform/registry.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Landed, Limits, Tx, WaitOptions, WaitStage } from '../../types/index.js'
import type { Store, StoredNeeds } from '../../types/store.js'
import { createSequenceGas } from '../gas/sequenceGas.js'
import type { LaneSession } from '../session/laneSession.js'
import { addTimer } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import { transactionOf } from '../transaction/txInternals.js'
import { createEffectWatcher, type EffectWatcher } from './effectWatcher.js'
import { followStored } from './followStored.js'
import type { PrepareOptions } from './prepare.js'
import { createSequences, dependencyError, type SequenceParts, type Sequences } from './sequences.js'

type DependenciesContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'chain' | 'reader' | 'receipts'>
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  txOf(transaction: Transaction): Tx
  readonly session: LaneSession
  readonly closed: boolean
}

/** The parts for transactions that depend on others: `after` conditions and sequences. */
export function createDependencies(
  context: DependenciesContext,
  parts: SequenceParts,
): Pick<PrepareOptions, 'conditions' | 'note' | 'sequenceGas'> & {
  readonly sequences: Sequences
  readonly effects: Pick<EffectWatcher, 'look'>
} {
  const effects = createEffectWatcher(context)
  return {
    conditions: createConditions(context, effects),
    note: effects.recordBaseline,
    effects,
    sequences: createSequences(context, parts),
    sequenceGas: createSequenceGas(context),
  }
}

/**
 * Waits until the predecessors in `after` are on the chain, before a transaction is prepared. Returns
 * undefined if there is nothing to wait for; rejects with the error that ends the transaction.
 */
function createConditions(
  context: DependenciesContext,
  effects: EffectWatcher,
): (transaction: Transaction) => Promise<void> | undefined {
  /** One follower per predecessor, shared by all transactions that wait for it. */
  const followedById = new Map<string, unknown>()

  /**
   * Waits for a predecessor in this lane, in another lane of this process, or in another or earlier process.
   */
  async function waitFor(one: string | Tx, needs: StoredNeeds, signal: AbortSignal): Promise<void> {
    const here = typeof one === 'string' ? context.transactions.get(one) : transactionOf(one)
    if (here === undefined) return stored(one as string, needs, signal)
    const tx = typeof one === 'string' ? context.txOf(here) : one
    try {
      await settles(here, (...how) => tx.wait(...how), needs, signal)
    } catch (error) {
      // The sender of the predecessor was closed, but the store may still learn its outcome.
      const closed = isTxlaneError(error) && error.code === 'CLOSED' && error.fate !== 'notExecuted'
      if (!closed || context.closed) throw error
      await stored(here.id, needs, signal)
    }
  }

  async function stored(id: string, needs: StoredNeeds, signal: AbortSignal): Promise<void> {
    const followed = await hold(followedById, id, () => followStored(context, id))
    const { transaction, stop } = followed.value
    const wait: Wait = (stage, options) => context.session.waiting.wait(transaction, stage, options)
    try {
      await settles(transaction, wait, needs, signal)
    } finally {
      await followed.release(stop)
    }
  }

  /** Resolves by its hash and receipt, or by its declared effect, whichever shows first. */
  async function settles(
    transaction: Transaction,
    wait: Wait,
    { afterStage = 'preconfirmed', afterStatus = 'success' }: StoredNeeds,
    signal: AbortSignal,
  ): Promise<void> {
    const landed = lands(transaction.id, wait, { afterStage, afterStatus, signal })
    if (afterStage !== 'preconfirmed') return landed
    const effect = effects.watch(transaction)
    await Promise.race([landed, effect.seen]).finally(effect.stop)
  }

  return (transaction) => {
    const { needs } = transaction.record
    const after = transaction.notes?.predecessors ?? needs?.after
    if (needs === undefined || after === undefined || after.length === 0) return undefined
    const signal = endOf(transaction)
    const all = after.map((one) => waitFor(one, needs, signal))
    return Promise.all(all).then(
      () => {},
      (error: unknown) => {
        throw dependencyError(transaction, error)
      },
    )
  }
}

/** The `wait` of one transaction. */
type Wait = (stage: WaitStage, options: WaitOptions) => Promise<Landed>

async function lands(
  id: string,
  wait: Wait,
  {
    afterStage,
    afterStatus,
    signal,
  }: { afterStage: WaitStage; afterStatus: StoredNeeds['afterStatus']; signal: AbortSignal },
): Promise<void> {
  let landed = await wait(afterStage, { signal }).catch((error: unknown) => {
    // The transaction executed, and no endpoint has its receipt.
    if (afterStatus === 'any' && isTxlaneError(error) && error.code === 'NO_RECEIPT') return undefined
    throw error
  })
  if (landed === undefined || afterStatus === 'any') return
  // Not every endpoint serves receipts of pre-confirmed transactions. Then wait for the sealed one.
  if (landed.status === undefined) landed = await wait('sealed', { signal })
  if (landed.status === 'reverted') throw new Error(`The transaction ${id} reverted.`)
}

/** A signal that aborts when the transaction ends, so that none of its waits stays behind. */
function endOf(transaction: Transaction): AbortSignal {
  const controller = new AbortController()
  addTimer(transaction, () => controller.abort())
  return controller.signal
}
