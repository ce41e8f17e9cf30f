import { NonceMap } from '../../ledger/nonceMap.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { LaneContext } from '../context.js'

/** Two refusals of the same nonce are two only with so much time between them, however fast blocks come. */
const REFUSALS_APART_MS = 1_000
/** The same where no block came between them: a chain that makes blocks only for transactions makes none for these. */
const REFUSALS_APART_WITHOUT_BLOCK_MS = 2_000
/** At most so long is waited for a block on a slow chain. */
const REFUSALS_APART_WITHOUT_BLOCK_MS_MAX = 15_000
/** Of the time between blocks: one that is due is waited for. */
const BLOCK_TIMES = 1.5

type Counted = { readonly block: number; readonly atMs: number }

/**
 * Spaces the refusals that count towards giving a nonce up (rows 15 and 20): each at another block than the last one, or,
 * where no block comes, later by a time. A refusal in between says nothing new: the same bytes are offered again.
 */
export function createRefusals({ clock, hub, lane }: Pick<LaneContext, 'clock' | 'hub' | 'lane'>) {
  const last = new NonceMap<Counted>()

  function apartMs(): number {
    const { blockMs = 0 } = hub.tracker
    const wantedMs = Math.max(REFUSALS_APART_WITHOUT_BLOCK_MS, BLOCK_TIMES * blockMs)
    return Math.min(wantedMs, REFUSALS_APART_WITHOUT_BLOCK_MS_MAX)
  }

  function count(nonce: number): boolean {
    const { number: block = 0 } = hub.tracker.head ?? {}
    const atMs = clock.now()
    const before = last.get(nonce)
    if (before !== undefined) {
      const elapsedMs = atMs - before.atMs
      if (elapsedMs < (block === before.block ? apartMs() : REFUSALS_APART_MS)) return false
    }
    forgetUsed()
    last.set(nonce, { block, atMs })
    return true
  }

  function forgetUsed(): void {
    for (const nonce of [...last.keys()]) if (nonce < lane.book.floor) last.delete(nonce)
  }

  return {
    /** The outcome as the table is to have it now, with the pause until the same refusal would count again. */
    paced(nonce: number, outcome: SendOutcome): SendOutcome {
      if (!outcome.counted && outcome.outcome !== 'intrinsic') return outcome
      const isNew = count(nonce)
      const sinceMs = clock.now() - (last.get(nonce)?.atMs ?? 0)
      const retryAfterMs = Math.max(outcome.retryAfterMs ?? 0, apartMs() - sinceMs)
      return isNew
        ? { ...outcome, retryAfterMs }
        : { ...outcome, outcome: 'refused', counted: false, retryAfterMs }
    },
  }
}
