import type { NonceList } from './nonceList.js'
import type { GethLimits } from './poolTypes.js'

/**
 * Removes executable transactions above the pool's limit. The largest accounts lose one transaction each in
 * turn, highest nonces first, until they are as small as the next smaller account; no account falls below its
 * guaranteed share. Each round runs to its end, so slightly more transactions than needed may go.
 */
export function truncatePending<T>(
  pending: ReadonlyMap<string, NonceList<T>>,
  { accountSlots, globalSlots }: GethLimits,
): T[] {
  const removed: T[] = []
  let count = 0
  for (const { size } of pending.values()) count += size
  if (count <= globalSlots) return removed
  const large = [...pending.values()]
    .filter(({ size }) => size > accountSlots)
    .sort((a, b) => b.size - a.size)
  const offenders: NonceList<T>[] = []

  function takeFromEach(lists: readonly NonceList<T>[]): void {
    for (const list of lists) removed.push(...list.cap(list.size - 1))
    count -= lists.length
  }

  for (const next of large) {
    if (count <= globalSlots) return removed
    const before = [...offenders]
    offenders.push(next)
    const last = before.at(-1)
    while (last !== undefined && count > globalSlots && last.size > next.size) takeFromEach(before)
  }
  const last = offenders.at(-1)
  while (last !== undefined && count > globalSlots && last.size > accountSlots) takeFromEach(offenders)
  return removed
}
