import type { LaneContext } from '../context.js'
import { createConditions } from './conditions.js'
import type { PrepareOptions } from './prepare.js'
import { createSequenceGas } from './sequenceGas.js'
import { createSequences, type SequenceParts, type Sequences } from './sequences.js'
import { createShown } from './shown.js'

/** What transactions have to do with each other: those that come after others, and those in a sequence. */
export function createDependence(
  context: LaneContext,
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
