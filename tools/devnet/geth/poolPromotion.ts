import { createNonceList, type NonceList } from './nonceList.js'
import type { PoolContents } from './poolContents.js'
import type { GethHead, GethLimits, PoolTransaction } from './poolTypes.js'

/** Moves transactions between the queue and the executable ones, and truncates both to the limits. */
type PoolPromotion = {
  /** `promoteExecutables`. */
  promote(addresses: readonly string[]): void
  /** `demoteUnexecutables`. */
  demote(): void
  truncate(): void
}

export function createPoolPromotion<T extends PoolTransaction>(
  contents: PoolContents<T>,
  limits: () => GethLimits,
  head: () => GethHead,
  mapOrder: (addresses: readonly string[]) => readonly string[],
): PoolPromotion {
  const { pending, queue, noncer } = contents

  function promoteOne(tx: T): void {
    let list = pending.get(tx.from)
    if (list === undefined) {
      list = createNonceList<T>(true)
      pending.set(tx.from, list)
    }
    const { inserted, old } = list.add(tx, limits().priceBump)
    contents.moved()
    if (!inserted) return contents.forget([tx])
    if (old !== undefined) contents.forget([old])
    noncer.set(tx.from, tx.nonce + 1)
    queue.bump(tx.from)
  }

  return {
    promote(addresses) {
      const { promotable, dropped } = queue.promote(addresses, head(), noncer.get)
      for (const tx of promotable) promoteOne(tx)
      contents.forget(dropped)
    },
    demote() {
      const newest = head()
      for (const address of mapOrder([...pending.keys()])) {
        const list = pending.get(address) as NonceList<T>
        const { nonce, balanceWei } = newest.account(address)
        const olds = list.forward(nonce)
        const { removed, invalids } = list.filter(balanceWei, newest.gasLimit)
        contents.forget([...olds, ...removed])
        for (const tx of invalids) queue.add(tx)
        if (list.size > 0 && list.get(nonce) === undefined) for (const tx of list.cap(0)) queue.add(tx)
        if (list.size === 0) pending.delete(address)
      }
      contents.moved()
    },
    truncate() {
      const cut = truncatePending(pending, limits())
      for (const { from, nonce } of cut) noncer.setIfLower(from, nonce)
      contents.forget(cut)
      contents.forget(queue.truncate())
    },
  }
}

/**
 * Removes executable transactions above the pool's limit. The largest accounts lose one transaction each in
 * turn, highest nonces first, until they are as small as the next smaller account; no account falls below its
 * guaranteed share. Each round runs to its end, so slightly more transactions than needed may go.
 */
function truncatePending<T>(
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
