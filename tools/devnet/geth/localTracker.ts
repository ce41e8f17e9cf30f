import type { GethPool } from './gethPool.js'
import type { PoolTransaction } from './poolTypes.js'

/**
 * Tracks the transactions that came over geth's own RPC, unless `--txpool.nolocals` is set. For a temporary
 * refusal of the pool, geth answers with the hash, and later resubmits the transactions that the pool lacks.
 * Sources: `core/txpool/locals/tx_tracker.go`, and `SendTx` of `eth/api_backend.go`.
 */
export type LocalTracker<T> = {
  /** `eth_sendRawTransaction`: returns the error message, or undefined if the call returns the hash. */
  send(tx: T): string | undefined
  /** Accounts of the tracked transactions. */
  addresses(): readonly string[]
  /** Forgets a transaction. Only the model has this function, for transactions that are lost on purpose. */
  forget(hash: string): void
  /**
   * Resubmits the tracked transactions that the pool lacks. `nonceOf` returns the nonce in the head's state.
   */
  resubmit(nonceOf: (address: string) => number): void
  /** Resubmits when due: ten seconds after the start, then every minute. Returns true if it was due. */
  resubmitDue(nowMs: number, nonceOf: (address: string) => number): boolean
}

// `recheckInterval` of core/txpool/locals/tx_tracker.go, and the delay before the first check.
export const RESUBMIT_FIRST_MS = 10_000
const RESUBMIT_MS = 60_000

export function createLocalTracker<T extends PoolTransaction>(
  pool: GethPool<T>,
  startMs = 0,
): LocalTracker<T> {
  let dueMs = startMs + RESUBMIT_FIRST_MS
  /** Transactions by account and nonce: a later transaction replaces an earlier one. */
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
