import type { Stage } from '../types.js'

const ENDED: ReadonlySet<Stage> = new Set(['finalized', 'failed', 'cancelled', 'superseded'])

const UNEXECUTED: ReadonlySet<Stage> = new Set(['failed', 'cancelled', 'superseded'])

/** It ended, and did not execute. */
export function hasEndedUnexecuted(stage: Stage): boolean {
  return UNEXECUTED.has(stage)
}

/** What took the place of a superseded one may have done what it was for: that one does not begin again. */
export function mayRestart(stage: Stage): boolean {
  return stage === 'failed' || stage === 'cancelled'
}

/** Nothing more is to be done for a transaction at this stage: it is kept to be found, and forgotten by age. */
export function hasEnded(stage: Stage): boolean {
  return ENDED.has(stage)
}
