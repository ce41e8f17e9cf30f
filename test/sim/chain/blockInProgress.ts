import type { Hash } from 'viem'
import type { SimTransaction } from '../transaction.js'
import type { Adjustment, SimBlock } from './block.js'
import { type Builder, createBuilder, type Forced } from './builder.js'
import { nextBaseFee } from './fees.js'
import type { ChainSettings } from './options.js'
import type { Pool } from './pool.js'

/** The block that the sequencer is filling, and everything that waits for a place in it. */
export type BlockInProgress = {
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
      timestampS: Math.floor(timestampMs / 1_000),
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
