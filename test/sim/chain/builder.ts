import type { Address } from 'viem'
import type { SimTransaction } from '../transaction.js'
import type { Adjusted, Adjustment, Executed, SimBlock } from './block.js'
import { adjust, execute } from './execute.js'
import type { Pool } from './pool.js'
import { createDraft, type State } from './state.js'

/** A transaction that is included regardless of the pool, made for the nonce that is next at its turn. */
export type Forced = { readonly from: Address; make(nonce: number): SimTransaction }

/** A block being filled. */
export type Builder = {
  readonly parent: SimBlock
  readonly baseFeeWei: bigint
  readonly executed: readonly Executed[]
  readonly adjustments: readonly Adjusted[]
  readonly gasUsed: number
  adjust(adjustment: Adjustment): void
  force(forced: Forced): void
  /** Executes a given transaction; false if it cannot be included now. */
  take(tx: SimTransaction): boolean
  /** Includes transactions of the pool, sender by sender in nonce order. Returns their number. */
  fill(pool: Pool, max: number, picked?: (tx: SimTransaction) => boolean): number
  nonce(address: Address): number
  state(): State
}

export function createBuilder(parent: SimBlock, baseFeeWei: bigint): Builder {
  const draft = createDraft(parent.state)
  const executed: Executed[] = []
  const adjustments: Adjusted[] = []
  let gasUsed = 0

  function take(tx: SimTransaction): boolean {
    const done = execute(tx, draft, baseFeeWei)
    if (typeof done === 'string') return false
    executed.push(done)
    gasUsed += done.gasUsed
    return true
  }

  return {
    parent,
    baseFeeWei,
    executed,
    adjustments,
    get gasUsed() {
      return gasUsed
    },
    adjust(adjustment) {
      const from = draft.account(adjustment.address).nonce
      adjustments.push({ ...adjustment, from, after: executed.length })
      adjust(draft, adjustment)
    },
    force({ from, make }) {
      take(make(draft.account(from).nonce))
    },
    take,
    fill(pool, max, picked = () => true) {
      let count = 0
      if (pool.size === 0) return count
      for (const from of pool.senders()) {
        for (const tx of pool.executable(from, draft.account(from).nonce)) {
          if (count >= max || !picked(tx) || !take(tx)) break
          count++
        }
      }
      return count
    },
    nonce: (address) => draft.account(address).nonce,
    state: () => draft.snapshot(),
  }
}
