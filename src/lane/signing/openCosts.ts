import { NonceMap } from '../../ledger/nonceMap.js'
import type { Attempt, Slot } from '../../ledger/slot.js'
import { openMove } from '../queue/openMove.js'

/** The maximum cost of each open nonce, in wei. */
export type OpenCosts = {
  /** The sum over all open nonces. */
  readonly totalWei: bigint
  at(nonce: number): bigint
  /** A nonce was reserved for a transaction with this maximum cost. */
  reserved(nonce: number, costWei: bigint): void
  /** A slot changed. Returns the cost that no longer counts if the slot is not open any more, else 0. */
  moved(nonce: number, before: Slot | undefined, after: Slot): bigint
}

/** The highest of the costs of these attempts, in wei; 0 without attempts. */
export function mostOf(attempts: readonly Attempt[], costOf: (attempt: Attempt) => bigint): bigint {
  let most = 0n
  for (const attempt of attempts) {
    const cost = costOf(attempt)
    if (cost > most) most = cost
  }
  return most
}

export function createOpenCosts(costOf: (attempt: Attempt) => bigint): OpenCosts {
  const costs = new NonceMap<bigint>()
  let totalWei = 0n

  function set(nonce: number, costWei: bigint): void {
    totalWei += costWei - (costs.get(nonce) ?? 0n)
    if (costWei === 0n) costs.delete(nonce)
    else costs.set(nonce, costWei)
  }

  return {
    get totalWei() {
      return totalWei
    },
    at: (nonce) => costs.get(nonce) ?? 0n,
    reserved: set,
    moved(nonce, before, after) {
      const move = openMove(before, after)
      if (move === 'same') return 0n
      if (move === 'attempts') {
        set(nonce, mostOf(after.attempts, costOf))
        return 0n
      }
      const cost = costs.get(nonce)
      if (cost === undefined) return 0n
      set(nonce, 0n)
      return cost
    },
  }
}
