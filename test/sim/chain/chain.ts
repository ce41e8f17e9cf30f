import type { Hash } from 'viem'
import { chance } from '../random.js'
import { decodeTransaction, type SimTransaction } from '../transaction.js'
import { refusal } from './admission.js'
import { type Adjustment, createBlockNames, type SimBlock, type View } from './block.js'
import { type Builder, createBuilder, type Forced } from './builder.js'
import { nextBaseFee } from './fees.js'
import { genesisBlock } from './genesis.js'
import { type ChainOptions, chainSettings } from './options.js'
import type { Admission } from './pool.js'
import { createPoolOf } from './poolOf.js'
import type { ReorgOptions, SimChain } from './simChain.js'
import type { State } from './state.js'

// The largest lag of a replica, in changes of the view.
const VIEWS_MAX = 1_024

export function createChain(options: ChainOptions): SimChain {
  const settings = chainSettings(options)
  const { clock, setBeat, random, blockTimeMs, flashblockMs, transactionsPerStepMax: stepMax } = settings
  const flashblocks = settings.pending === 'preconfirmed'
  const stepsPerBlock = flashblocks ? Math.max(1, Math.round(blockTimeMs / flashblockMs)) : 1
  const name = createBlockNames()
  const canonical: SimBlock[] = [genesisBlock(settings, name('sealed'))]
  const pool = createPoolOf(settings, head().state, () => builder.baseFeeWei)
  const views: View[] = []
  let adjustments: Adjustment[] = []
  let forcedNext: Forced[] = []
  let spike = { baseFeeWei: 0n, blocks: 0 }
  let lost: { count: number; keeps: (tx: SimTransaction) => boolean } | undefined
  let halted = false
  let steps = 0
  /** The number of transactions in each flashblock of the block in progress. */
  let brought: number[] = []
  let cancelTimer = () => {}
  const tuples = new Set<number>()
  let builder = open()
  publish(true)

  function head(): SimBlock {
    return canonical[canonical.length - 1] as SimBlock
  }

  function open(): Builder {
    const parent = head()
    const fee = spike.blocks > 0 ? spike.baseFeeWei : nextBaseFee(parent.baseFeeWei, settings)
    if (spike.blocks > 0) spike = { ...spike, blocks: spike.blocks - 1 }
    brought = []
    steps = 0
    return createBuilder(parent, fee)
  }

  function blockOf(from: Builder, sealed: boolean, timestampMs = clock.now()): SimBlock {
    return {
      number: from.parent.number + 1,
      hash: name(sealed ? 'sealed' : 'partial'),
      parent: from.parent,
      sealed,
      timestampS: Math.floor(timestampMs / 1_000),
      baseFeeWei: from.baseFeeWei,
      executed: [...from.executed],
      adjustments: [...from.adjustments],
      gasUsed: from.gasUsed,
      state: from.state(),
      words: {},
    }
  }

  function publish(changed: boolean): void {
    const shown = views[views.length - 1]?.pending
    const pending = !flashblocks
      ? undefined
      : changed || shown === undefined
        ? blockOf(builder, false)
        : shown
    const view = { atMs: clock.now(), head: head(), pending }
    views.push(view)
    settings.onView(view)
    if (views.length > VIEWS_MAX) views.splice(0, VIEWS_MAX / 2)
  }

  /**
   * Includes the waiting adjustments and forced transactions before any of the pool. Returns true if there
   * were any.
   */
  function takeWaiting(): boolean {
    const any = adjustments.length + forcedNext.length > 0
    adjustments.forEach(builder.adjust)
    forcedNext.forEach(builder.force)
    adjustments = []
    forcedNext = []
    return any
  }

  function fill(picked?: (tx: SimTransaction) => boolean): boolean {
    const before = builder.executed.length
    const waited = takeWaiting()
    pool.settle()
    builder.fill(pool, stepMax, picked)
    brought.push(builder.executed.length - before)
    return waited || builder.executed.length > before
  }

  function stepFlashblock(): void {
    if (!flashblocks || halted) return
    if (fill()) publish(true)
  }

  function seal(): void {
    if (halted) return
    if (!flashblocks) fill()
    if (lost !== undefined) cut(lost)
    lost = undefined
    append(clock.now())
    builder = open()
    publish(true)
  }

  function append(timestampMs: number): void {
    const block = blockOf(builder, true, timestampMs)
    canonical.push(block)
    const hashes = block.executed.map(({ tx }) => tx.hash)
    pool.onBlock(hashes, block.state, block.baseFeeWei)
  }

  /** Builds the block anew without the transactions of its newest flashblocks. */
  function cut({ count, keeps }: { count: number; keeps: (tx: SimTransaction) => boolean }): void {
    const gone = brought.slice(-count).reduce((sum, each) => sum + each, 0)
    const whole = builder
    const kept = whole.executed.length - gone
    builder = createBuilder(whole.parent, whole.baseFeeWei)
    whole.adjustments.forEach(builder.adjust)
    whole.executed.forEach(({ tx }, index) => {
      if (index < kept) builder.take(tx)
      else if (keeps(tx)) pool.restore([tx], head().state, head().baseFeeWei)
      else pool.remove(tx.hash)
    })
  }

  function reorg({ depth, drops = () => false, inclusion = 1, forced = [] }: ReorgOptions): void {
    const removed = canonical.splice(Math.max(1, canonical.length - depth))
    // The transactions of the block in progress are still in the pool, or wait again.
    adjustments = [...removed.flatMap((block) => block.adjustments), ...builder.adjustments, ...adjustments]
    const returned: SimTransaction[] = []
    for (const { tx } of removed.flatMap((block) => block.executed)) {
      if (drops(tx)) pool.remove(tx.hash)
      else returned.push(tx)
    }
    pool.restore(returned, head().state, head().baseFeeWei)
    forcedNext.push(...forced)
    for (const old of removed) {
      builder = createBuilder(head(), old.baseFeeWei)
      fill(() => chance(random, inclusion))
      append(old.timestampS * 1_000)
    }
    builder = open()
    publish(true)
  }

  function rewind({ blocks, keepsPool }: { readonly blocks: number; readonly keepsPool: boolean }): void {
    canonical.splice(Math.max(1, canonical.length - blocks))
    if (!keepsPool) pool.evict(() => true)
    pool.onBlock([], head().state, head().baseFeeWei)
    builder = open()
    publish(true)
  }

  function submit(raw: string): Admission & { readonly hash?: Hash } {
    const tx = decodeTransaction(raw)
    if (tx === undefined) return { ok: false, ...refusal('rlp: value size exceeds available input length') }
    for (let index = 1; index <= tx.authorizations; index++) tuples.add(tx.nonce + index)
    const admission = pool.add(tx, admissionState())
    return { ...admission, hash: tx.hash }
  }

  /**
   * The state for admission. A preconfirming sequencer knows its own block in progress: a transaction in it
   * is known, and its nonce too low.
   */
  function admissionState(): State {
    return head().state
  }

  function tick(): void {
    cancelTimer = setBeat(tick, flashblocks ? flashblockMs : blockTimeMs)
    stepFlashblock()
    if (halted) return
    steps++
    if (steps >= stepsPerBlock) seal()
  }

  return {
    settings,
    pool,
    tuples,
    canonical,
    get head() {
      return head()
    },
    view(lagMs = 0) {
      const atMs = clock.now() - lagMs
      let index = views.length - 1
      if (lagMs > 0) while (index > 0 && (views[index] as View).atMs > atMs) index--
      return views[index] as View
    },
    submit,
    start() {
      cancelTimer()
      cancelTimer = setBeat(tick, flashblocks ? flashblockMs : blockTimeMs)
    },
    stop: () => cancelTimer(),
    stepFlashblock,
    seal,
    reorg,
    rewind,
    setHalted(next) {
      halted = next
    },
    loseFlashblocks(count, keeps = () => true) {
      lost = { count, keeps }
    },
    force: (forced) => void forcedNext.push(forced),
    adjust: (adjustment) => void adjustments.push(adjustment),
    spikeBaseFee(baseFeeWei, blocks) {
      spike = { baseFeeWei, blocks }
    },
    setPressure: (full) => pool.setPressure(full, head().state),
    nextNonce: (address) => builder.nonce(address),
  }
}
