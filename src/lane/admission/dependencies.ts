import type { Lane } from '../../allocator/lane.js'
import type { Hub } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits, Tx } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { createSequenceGas } from '../gas/sequenceGas.js'
import type { LaneHandle } from '../session/laneSession.js'
import type { Transaction } from '../transaction/transaction.js'
import { createConditions } from './conditions.js'
import { createShown } from './effectWatcher.js'
import type { PrepareOptions } from './prepare.js'
import { createSequences, type SequenceParts, type Sequences } from './sequences.js'

type DependenciesContext = {
  readonly lane: Lane
  readonly hub: Hub
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  txOf(transaction: Transaction): Tx
  readonly handle: LaneHandle
  readonly closed: boolean
}

/** What transactions have to do with each other: those that come after others, and those in a sequence. */
export function createDependence(
  context: DependenciesContext,
  parts: SequenceParts,
): Pick<PrepareOptions, 'conditions' | 'note' | 'sequenceGas'> & { readonly sequences: Sequences } {
  const shown = createShown(context)
  return {
    conditions: createConditions(context, shown),
    note: shown.note,
    sequences: createSequences(context, parts),
    sequenceGas: createSequenceGas(context),
  }
}
