import type { ChainKey, Store, StoredTransaction } from '../types/store.js'

/** So many are looked up at once. */
export const FINDS = 32

/** Each of these that the store knows, in order, a few at a time; `found` says whether to go on. */
export async function findEach(
  store: Pick<Store, 'find'>,
  chain: ChainKey,
  ids: readonly string[],
  found: (stored: StoredTransaction) => boolean,
): Promise<void> {
  for (let first = 0; first < ids.length; first += FINDS) {
    const some = ids.slice(first, first + FINDS)
    for (const stored of await Promise.all(some.map((id) => store.find(chain, { id }))))
      if (stored && !found(stored)) return
  }
}
