import type { LaneSession } from '../lane/session/laneSession.js'
import type { SpentBefore } from '../lane/signing/feeBudget.js'
import { WINDOWS } from '../lane/signing/spending.js'
import { hasReached } from '../lane/transaction/transaction.js'
import { feeCap } from '../ledger/fees.js'
import type { Clock } from '../platform/clock.js'
import type { LaneState, Store, StoredTransaction } from '../types/store.js'

const DAY_MS = WINDOWS.day * 60_000
const PAGE = 1_000
/** More of them are not read while a lane is opened. */
const PAGES_MAX = 20

/**
 * What the transactions of an earlier life may have cost in fees, where the lane has a budget: those that executed, as of
 * the time at which they were sent, each with its gas limit at the most that its newest attempt offers. What the lane's
 * slots still hold is counted from those. No-ops are not among the records of transactions.
 */
export async function spentInRecords(
  { store, clock, session }: { readonly store: Store; readonly clock: Clock; readonly session: LaneSession },
  { slots }: Pick<LaneState, 'slots'>,
): Promise<readonly SpentBefore[]> {
  if (session.settings.current.budget === undefined) return []
  const open = new Set(slots.map(({ nonce }) => nonce))
  const nowMs = clock.now()
  const wallMs = clock.wallNow()
  const spent: SpentBefore[] = []
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const found = await store.list([session.key], { limit: PAGE, cursor })
    for (const one of found.items) {
      // A clock that was set back since would have them in the future.
      const agoMs = Math.max(0, wallMs - one.createdAtMs)
      const isOpen = one.nonce === undefined || open.has(one.nonce)
      if (isOpen || agoMs > DAY_MS || !hasReached(one, 'sealed')) continue
      spent.push({ wei: costOf(one), atMs: nowMs - agoMs })
    }
    cursor = found.cursor
    const oldest = found.items.at(-1)
    if (cursor === undefined || (oldest && wallMs - oldest.createdAtMs > DAY_MS)) break
  }
  return spent
}

function costOf({ gas = 0n, attempts, fees = attempts?.at(-1)?.fees }: StoredTransaction): bigint {
  return fees === undefined ? 0n : gas * feeCap(fees)
}
