import type { ChainKey, Store, StoredTransaction } from '../types/store.js'

/** So many are looked up at once. */
export const LOOKUP_BATCH = 32

/** Each of these that the store knows, in order, a few at a time; `found` says whether to go on. */
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
