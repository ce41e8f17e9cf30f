import type { Stage } from '../types/index.js'

const ENDED: ReadonlySet<Stage> = new Set(['finalized', 'failed', 'cancelled', 'superseded'])

const UNEXECUTED: ReadonlySet<Stage> = new Set(['failed', 'cancelled', 'superseded'])

/** The transaction ended without execution. */
export function hasEndedUnexecuted(stage: Stage): boolean {
  return UNEXECUTED.has(stage)
}

/** Whether the id may begin anew. A superseded transaction may not: its replacement may have executed the same request. */
export function mayRestart(stage: Stage): boolean {
  return stage === 'failed' || stage === 'cancelled'
}

/** It waits for a nonce, or is on its way. */
export const UNSEALED: readonly Stage[] = ['queued', 'signed', 'accepted', 'preconfirmed']

/** Nothing more is to be done for a transaction at this stage: it is kept to be found, and forgotten by age. */
export function hasEnded(stage: Stage): boolean {
  return ENDED.has(stage)
}
