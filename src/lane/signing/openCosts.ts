import { NonceMap } from '../../ledger/nonceMap.js'
import type { Slot } from '../../ledger/slot.js'
import { openMove } from '../queue/openMove.js'
import type { Transaction } from '../transaction/transaction.js'
import { attemptCost } from './cost.js'
import type { FeeOracle } from './feeOracle.js'

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

export function createOpenCosts(context: {
  readonly fees: FeeOracle
  readonly transactions: ReadonlyMap<string, Transaction>
}): OpenCosts {
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
        let most = 0n
        for (const attempt of after.attempts) {
          const cost = attemptCost(context, attempt)
          if (cost > most) most = cost
        }
        set(nonce, most)
        return 0n
      }
      const cost = costs.get(nonce)
      if (cost === undefined) return 0n
      set(nonce, 0n)
      return cost
    },
  }
}
