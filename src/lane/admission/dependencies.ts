import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits, Tx } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { createSequenceGas } from '../gas/sequenceGas.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Transaction } from '../transaction/transaction.js'
import { createConditions } from './conditions.js'
import { createEffectWatcher } from './effectWatcher.js'
import type { PrepareOptions } from './prepare.js'
import { createSequences, type SequenceParts, type Sequences } from './sequences.js'

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
): Pick<PrepareOptions, 'conditions' | 'note' | 'sequenceGas'> & { readonly sequences: Sequences } {
  const effects = createEffectWatcher(context)
  return {
    conditions: createConditions(context, effects),
    note: effects.recordBaseline,
    sequences: createSequences(context, parts),
    sequenceGas: createSequenceGas(context),
  }
}
