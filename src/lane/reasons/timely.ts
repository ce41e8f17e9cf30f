import type { Stage } from '../../types/index.js'
import type { WaitReason } from '../../types/wait.js'

const IN_QUEUE: ReadonlySet<WaitReason['for']> = new Set([
  'estimate',
  'condition',
  'order',
  'funds',
  'hold',
  'window',
])
const UNTIL_ACCEPTED: ReadonlySet<WaitReason['for']> = new Set(['endpoint', 'signature', 'journal'])
const UNACCEPTED: ReadonlySet<Stage> = new Set(['queued', 'signed'])
const UNSEALED: ReadonlySet<Stage> = new Set(['queued', 'signed', 'accepted', 'preconfirmed'])

/**
 * Whether the reason still fits the stage of the transaction. A reason from an earlier stage is out of date.
 */
export function isTimely(
  waiting: WaitReason,
  { stage, nonce }: { readonly stage: Stage; readonly nonce: number | undefined },
): boolean {
  if (IN_QUEUE.has(waiting.for)) return nonce === undefined && stage === 'queued'
  if (UNTIL_ACCEPTED.has(waiting.for)) return nonce !== undefined && UNACCEPTED.has(stage)
  return UNSEALED.has(stage)
}
