import type { Stage } from '../../../../src/index.js'

/** By rank: a transaction of a higher rank decides the end of its rows. `none` and `failed` never ran. */
export const RANKS = { none: 0, failed: 0, reverted: 1, cancelled: 2, live: 3 } as const

export type State = keyof typeof RANKS

/** `stage`: undefined if the transaction was never made. */
export function stateIn(stage: Stage | undefined, isReverted: boolean): State {
  if (stage === undefined) return 'none'
  if (stage === 'failed') return 'failed'
  if (isReverted) return 'reverted'
  return stage === 'cancelled' || stage === 'superseded' ? 'cancelled' : 'live'
}
