import type { LaneSession } from '../lane/session/laneSession.js'
import type { SpentBefore } from '../lane/signing/feeBudget.js'
import { WINDOWS } from '../lane/signing/spending.js'
import { hasReached } from '../lane/transaction/transaction.js'
import { feeCap } from '../ledger/fees.js'
import type { Clock } from '../platform/clock.js'
import type { LaneState, Store, StoredTransaction } from '../types/store.js'

const DAY_MS = WINDOWS.day * 60_000
const PAGE = 1_000
/** The opening of a lane reads no more records than this. */
const PAGES_MAX = 20

/**
 * The fees that earlier process lives may have spent, for a lane with a fee budget. It counts executed transactions at the
 * time at which they were sent, each with its gas limit at the highest price of its newest attempt. The slots of the lane count
 * their own transactions. Records of transactions do not include no-ops.
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
      // If the wall clock was set back since, the record's time is in the future: it counts as spent now.
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
