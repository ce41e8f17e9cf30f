import type { TxlaneError } from '../../errors/base.js'
import type { Store } from '../../types/store.js'
import type { LaneSession } from '../session/laneSession.js'

/**
 * With a full queue no new transaction is admitted, but a known id is accepted.
 * @throws `full` if the id is not known
 */
export async function requireKnown(
  { store, session }: { readonly store: Pick<Store, 'find'>; readonly session: LaneSession },
  id: string | undefined,
  full: TxlaneError,
): Promise<void> {
  if (id !== undefined && session.transactions.has(id)) return
  if (id !== undefined && (await store.find(session.key, { id }))) return
  throw full
}
