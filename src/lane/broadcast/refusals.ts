import type { Lane } from '../../allocator/lane.js'
import { createApart, type Moment } from '../../chain/endpoints/apart.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { SendAnswer } from '../../delivery/settle.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import type { Attempt } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { SendOutcome } from '../../rpc/outcome.js'

type Refused = {
  readonly nonce: number
  readonly attempt: Attempt
  readonly outcome: SendOutcome
  readonly answer: SendAnswer
}

/** Bytes that were refused for a temporary reason may be accepted after this time. */
const SOON_MS = 100

/**
 * Spaces the refusals that count towards giving a nonce up (rows 15 and 20). A refusal in between says
 * nothing new, and the same bytes are offered again.
 */
export function createRefusals(context: {
  readonly clock: Clock
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly lane: Lane
}) {
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
    /**
     * Returns the outcome as the table should see it now. `againMs`: the delay until the same bytes are
     * offered again, because the delivery does not re-send them by itself. It ends at the earliest when the
     * same refusal would count again.
     */
    paced({ nonce, attempt, outcome, answer }: Refused): { outcome: SendOutcome; againMs?: number } {
      if (!outcome.counted && outcome.outcome !== 'intrinsic') {
        if (answer.kind !== 'refused' && answer.kind !== 'occupied') return { outcome }
        const isFirst = answer.kind === 'refused' && attempt.sends === 0
        return { outcome, againMs: isFirst ? SOON_MS : apart.waitMs(apart.now()) }
      }
      const isNew = count(nonce)
      const againMs = apart.waitMs(last.get(nonce) ?? apart.now())
      return isNew
        ? { outcome, againMs }
        : { outcome: { ...outcome, outcome: 'refused', counted: false }, againMs }
    },
  }
}
