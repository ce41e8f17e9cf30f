import type { GethPool } from './gethPool.js'
import type { PoolTransaction } from './poolTypes.js'

/**
 * What geth keeps of the transactions that came over its own RPC, unless `--txpool.nolocals` is given: it answers with
 * the hash where the pool refused for now, and adds what the pool lacks again. `core/txpool/locals/tx_tracker.go`, and
 * `SendTx` of `eth/api_backend.go`.
 */
export type LocalTracker<T> = {
  /** `eth_sendRawTransaction`: why it is refused, or undefined where the hash is answered. */
  send(tx: T): string | undefined
  /** Accounts of what is tracked. */
  addresses(): readonly string[]
  /** As if it had never come: the model alone has this, for transactions that are lost on purpose. */
  forget(hash: string): void
  /** Adds again what the pool lacks. `nonceOf`: of the head's state. */
  resubmit(nonceOf: (address: string) => number): void
  /** The same where it is due: ten seconds after the start, and each minute from then on. True where it was. */
  resubmitDue(nowMs: number, nonceOf: (address: string) => number): boolean
}

// `recheckInterval` of core/txpool/locals/tx_tracker.go, and its first one.
export const RESUBMIT_FIRST_MS = 10_000
const RESUBMIT_MS = 60_000

export function createLocalTracker<T extends PoolTransaction>(
  pool: GethPool<T>,
  startMs = 0,
): LocalTracker<T> {
  let dueMs = startMs + RESUBMIT_FIRST_MS
  /** By account and nonce: a later transaction takes the place of an earlier one. */
  const tracked = new Map<string, Map<number, T>>()
  const known = new Set<string>()

  function track(tx: T): void {
    if (known.has(tx.hash)) return
    known.add(tx.hash)
    const own = tracked.get(tx.from) ?? new Map<number, T>()
    tracked.set(tx.from, own.set(tx.nonce, tx))
  }

  function resubmit(nonceOf: (address: string) => number): void {
    const absent: T[] = []
    for (const [address, own] of tracked) {
      const nonce = nonceOf(address)
      for (const tx of [...own.values()].sort((a, b) => a.nonce - b.nonce)) {
        if (tx.nonce < nonce) {
          own.delete(tx.nonce)
          known.delete(tx.hash)
        } else if (pool.get(tx.hash) === undefined) absent.push(tx)
      }
      if (own.size === 0) tracked.delete(address)
    }
    for (const tx of absent) pool.add(tx)
  }

  return {
    send(tx) {
      const error = pool.add(tx)
      if (error !== undefined && !error.isTemporary) return error.message
      track(tx)
      return undefined
    },
    addresses: () => [...tracked.keys()],
    forget(hash) {
      known.delete(hash)
      for (const own of tracked.values())
        for (const tx of own.values()) if (tx.hash === hash) own.delete(tx.nonce)
    },
    resubmit,
    resubmitDue(nowMs, nonceOf) {
      if (nowMs < dueMs) return false
      dueMs = nowMs + RESUBMIT_MS
      resubmit(nonceOf)
      return true
    },
  }
}
