import { createNonceList, type NonceList } from './nonceList.js'
import type { GethHead, GethLimits, PoolTransaction } from './poolTypes.js'

/** Transactions that wait for a lower nonce, or for the next reorganisation: geth's `queue.go`. */
export type FutureQueue<T> = {
  readonly size: number
  get(address: string): NonceList<T> | undefined
  addresses(): string[]
  /**
   * Returns the hash of the replaced transaction, if any. False if the nonce is taken and the fees are too
   * low.
   */
  add(tx: T): { readonly replaced?: string | undefined } | false
  remove(tx: T): void
  /**
   * Notes that a transaction of this account was promoted or replaced. The account then counts as younger
   * when the queue is truncated.
   */
  bump(address: string): void
  /**
   * Removes the transactions that are executable from `nonceOf` on, the invalid ones under the new head, and
   * those above the account's limit.
   */
  promote(
    addresses: readonly string[],
    head: GethHead,
    nonceOf: (address: string) => number,
  ): { readonly promotable: T[]; readonly dropped: T[] }
  /** Removes the transactions above the limit of all accounts, from the accounts that have waited longest. */
  truncate(): T[]
}

export function createFutureQueue<T extends PoolTransaction>(limits: () => GethLimits): FutureQueue<T> {
  const queued = new Map<string, NonceList<T>>()
  const beats = new Map<string, number>()
  let beat = 0

  function forgetIfEmpty(address: string, list: NonceList<T>): void {
    if (list.size > 0) return
    queued.delete(address)
    beats.delete(address)
  }

  function remove(tx: T): void {
    const list = queued.get(tx.from)
    // Another transaction may hold the nonce by now.
    if (list === undefined || list.get(tx.nonce)?.hash !== tx.hash) return
    list.remove(tx.nonce)
    forgetIfEmpty(tx.from, list)
  }

  function sizeOfAll(): number {
    let size = 0
    for (const list of queued.values()) size += list.size
    return size
  }

  return {
    get size() {
      return sizeOfAll()
    },
    get: (address) => queued.get(address),
    addresses: () => [...queued.keys()],
    add(tx) {
      let list = queued.get(tx.from)
      if (list === undefined) {
        list = createNonceList<T>(false)
        queued.set(tx.from, list)
      }
      const { inserted, old } = list.add(tx, limits().priceBump)
      if (!inserted) return false
      if (!beats.has(tx.from)) beats.set(tx.from, ++beat)
      return { replaced: old?.hash }
    },
    remove,
    bump(address) {
      if (beats.has(address)) beats.set(address, ++beat)
    },
    promote(addresses, head, nonceOf) {
      const promotable: T[] = []
      const dropped: T[] = []
      for (const address of addresses) {
        const list = queued.get(address)
        if (list === undefined) continue
        const { nonce, balanceWei } = head.account(address)
        dropped.push(...list.forward(nonce), ...list.filter(balanceWei, head.gasLimit).removed)
        promotable.push(...list.ready(nonceOf(address)))
        dropped.push(...list.cap(limits().accountQueue))
        forgetIfEmpty(address, list)
      }
      return { promotable, dropped }
    },
    truncate() {
      let excess = sizeOfAll() - limits().globalQueue
      if (excess <= 0) return []
      const removed: T[] = []
      const byAge = [...queued.keys()].sort((a, b) => (beats.get(a) as number) - (beats.get(b) as number))
      for (const address of byAge) {
        if (excess <= 0) break
        const list = queued.get(address) as NonceList<T>
        const gone = list.cap(Math.max(0, list.size - excess))
        removed.push(...gone)
        excess -= gone.length
        forgetIfEmpty(address, list)
      }
      return removed
    },
  }
}
