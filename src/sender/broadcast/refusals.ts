import { NonceMap } from '../../ledger/nonceMap.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import { createApart, type Moment } from '../apart.js'
import type { LaneContext } from '../context.js'

/**
 * Spaces the refusals that count towards giving a nonce up (rows 15 and 20). A refusal in between says nothing new: the
 * same bytes are offered again.
 */
export function createRefusals(context: Pick<LaneContext, 'clock' | 'hub' | 'lane'>) {
  const { lane } = context
  const apart = createApart(context)
  const last = new NonceMap<Moment>()

  function count(nonce: number): boolean {
    if (!apart.isNew(last.get(nonce))) return false
    forgetUsed()
    last.set(nonce, apart.now())
    return true
  }

  function forgetUsed(): void {
    for (const nonce of [...last.keys()]) if (nonce < lane.book.floor) last.delete(nonce)
  }

  return {
    /** The outcome as the table is to have it now, with the time after which the same refusal would count again. */
    paced(nonce: number, outcome: SendOutcome): { outcome: SendOutcome; againMs?: number } {
      if (!outcome.counted && outcome.outcome !== 'intrinsic') return { outcome }
      const isNew = count(nonce)
      const againMs = apart.waitMs(last.get(nonce) ?? apart.now())
      return isNew
        ? { outcome, againMs }
        : { outcome: { ...outcome, outcome: 'refused', counted: false }, againMs }
    },
  }
}
