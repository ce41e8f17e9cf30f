import type { Stage } from '../types.js'

const ENDED: ReadonlySet<Stage> = new Set(['finalized', 'failed', 'cancelled', 'superseded'])

/** Nothing more is to be done for a transaction at this stage: it is kept to be found, and forgotten by age. */
export function hasEnded(stage: Stage): boolean {
  return ENDED.has(stage)
}
