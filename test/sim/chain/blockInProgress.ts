import type { Address, Hash } from 'viem'
import type { SimTransaction } from '../transaction.js'
import type { Adjusted, Adjustment, Executed, SimBlock } from './block.js'
import { adjust, execute } from './execute.js'
import { type ChainSettings, nextBaseFee } from './options.js'
import type { Pool } from './pool.js'
import { createDraft, type State } from './state.js'

/** The block that the sequencer is filling, and everything that waits for a place in it. */
type BlockInProgress = {
  readonly baseFeeWei: bigint
  /** Begins the block after `parent`. */
  open(parent: SimBlock): void
  /** Begins another version of an old block, for a reorg. */
  openAgain(parent: SimBlock, baseFeeWei: bigint): void
  /**
   * Includes the waiting adjustments and forced transactions, and then transactions of the pool. Returns true if
   * there were any.
   */
  fill(picked?: (tx: SimTransaction) => boolean): boolean
  /** Builds the block anew without the transactions of its newest flashblocks. */
  cut(lost: Lost): void
  /** The block as it is now. */
  block(sealed: boolean, timestampMs: number): SimBlock
  /** Adjustments of removed blocks, and those of this one, wait again. */
  returnAdjustments(removed: readonly SimBlock[]): void
  force(forced: readonly Forced[]): void
  adjust(adjustment: Adjustment): void
  spikeBaseFee(baseFeeWei: bigint, blocks: number): void
  nonce: Builder['nonce']
}

/** Flashblocks that the sealed block lacks; `keeps` selects the transactions that return to the pool. */
export type Lost = { readonly count: number; readonly keeps: (tx: SimTransaction) => boolean }

export function createBlockInProgress(options: {
  readonly settings: ChainSettings
  readonly name: (kind: 'sealed' | 'partial') => Hash
  readonly pool: Pool
  readonly parent: SimBlock
}): BlockInProgress {
  const { settings, name, pool } = options
  let adjustments: Adjustment[] = []
  let forcedNext: Forced[] = []
  let spike = { baseFeeWei: 0n, blocks: 0 }
  /** The number of transactions in each flashblock. */
  let brought: number[] = []
  let builder = builderAfter(options.parent)

  function builderAfter(parent: SimBlock): Builder {
    const fee = spike.blocks > 0 ? spike.baseFeeWei : nextBaseFee(parent.baseFeeWei, settings)
    if (spike.blocks > 0) spike = { ...spike, blocks: spike.blocks - 1 }
    brought = []
    return createBuilder(parent, fee)
  }

  function takeWaiting(): boolean {
    const any = adjustments.length + forcedNext.length > 0
    adjustments.forEach(builder.adjust)
    forcedNext.forEach(builder.force)
    adjustments = []
    forcedNext = []
    return any
  }

  return {
    get baseFeeWei() {
      return builder.baseFeeWei
    },
    open(parent) {
      builder = builderAfter(parent)
    },
    openAgain(parent, baseFeeWei) {
      builder = createBuilder(parent, baseFeeWei)
    },
    fill(picked) {
      const before = builder.executed.length
      const waited = takeWaiting()
      pool.settle()
      builder.fill(pool, settings.transactionsPerStepMax, picked)
      brought.push(builder.executed.length - before)
      return waited || builder.executed.length > before
    },
    cut({ count, keeps }) {
      const gone = brought.slice(-count).reduce((sum, each) => sum + each, 0)
      const { parent, baseFeeWei, executed, adjustments: adjusted } = builder
      const kept = executed.length - gone
      builder = createBuilder(parent, baseFeeWei)
      adjusted.forEach(builder.adjust)
      executed.forEach(({ tx }, index) => {
        if (index < kept) builder.take(tx)
        else if (keeps(tx)) pool.restore([tx], parent.state, parent.baseFeeWei)
        else pool.remove(tx.hash)
      })
    },
    block: (sealed, timestampMs) => ({
      number: builder.parent.number + 1,
      hash: name(sealed ? 'sealed' : 'partial'),
      parent: builder.parent,
      sealed,
      timestampMs,
      baseFeeWei: builder.baseFeeWei,
      executed: [...builder.executed],
      adjustments: [...builder.adjustments],
      gasUsed: builder.gasUsed,
      state: builder.state(),
      words: {},
    }),
    returnAdjustments(removed) {
      adjustments = [...removed.flatMap((block) => block.adjustments), ...builder.adjustments, ...adjustments]
    },
    force: (forced) => void forcedNext.push(...forced),
    adjust: (adjustment) => void adjustments.push(adjustment),
    spikeBaseFee(baseFeeWei, blocks) {
      spike = { baseFeeWei, blocks }
    },
    nonce: (address) => builder.nonce(address),
  }
}

/** A transaction that is included regardless of the pool, made for the nonce that is next at its turn. */
export type Forced = { readonly from: Address; make(nonce: number): SimTransaction }

/** A block being filled. */
type Builder = {
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
