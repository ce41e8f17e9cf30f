import type { ChainKey, Store, StoredTransaction } from '../../types/store.js'

/** The number of parallel lookups. */
export const LOOKUP_BATCH = 32

/** Looks ids up in order, in batches, and calls `found` for each hit; stops when it returns false. */
export async function findByIds(
  store: Pick<Store, 'find'>,
  chain: ChainKey,
  ids: readonly string[],
  found: (stored: StoredTransaction) => boolean,
): Promise<void> {
  for (let first = 0; first < ids.length; first += LOOKUP_BATCH) {
    const some = ids.slice(first, first + LOOKUP_BATCH)
    for (const stored of await Promise.all(some.map((id) => store.find(chain, { id }))))
      if (stored && !found(stored)) return
  }
}
