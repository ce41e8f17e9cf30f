import type { Address, Hash } from 'viem'
import type { Clock } from '../../../src/platform/clock.js'
import { chance } from '../random.js'
import { decodeTransaction, type SimTransaction } from '../transaction.js'
import { type AdmissionLimits, refusal } from './admission.js'
import { createBlockNames, type SimBlock, type View } from './block.js'
import { createBlockInProgress, type Lost } from './blockInProgress.js'
import { createGethSimPool } from './gethPool.js'
import { type ChainOptions, type ChainSettings, chainSettings } from './options.js'
import { type Admission, createPool, type Pool } from './pool.js'
import type { ReorgOptions, SimChain } from './simChain.js'
import type { State } from './state.js'

export function createChain(options: ChainOptions): SimChain {
  const settings = chainSettings(options)
  const { clock, setBeat, random, blockTimeMs, flashblockMs } = settings
  const flashblocks = settings.pending === 'preconfirmed'
  const beatMs = flashblocks ? flashblockMs : blockTimeMs
  const stepsPerBlock = flashblocks ? Math.max(1, Math.round(blockTimeMs / flashblockMs)) : 1
  const name = createBlockNames()
  const canonical: SimBlock[] = [genesisBlock(settings, name('sealed'))]
  const pool = createPoolOf(settings, head().state, () => progress.baseFeeWei)
  const progress = createBlockInProgress({ settings, name, pool, parent: head() })
  const views = createViews(settings)
  const beat = createBeat(setBeat, beatMs, tick)
  const tuples = new Set<number>()
  let lost: Lost | undefined
  let halted = false
  let steps = 0
  publish()

  function head(): SimBlock {
    return canonical[canonical.length - 1] as SimBlock
  }

  function publish(): void {
    views.publish(head(), flashblocks ? progress.block(false, clock.now()) : undefined)
  }

  function openNext(): void {
    steps = 0
    progress.open(head())
    publish()
  }

  function stepFlashblock(): void {
    if (!flashblocks || halted) return
    if (progress.fill()) publish()
  }

  function seal(): void {
    if (halted) return
    if (!flashblocks) progress.fill()
    if (lost !== undefined) progress.cut(lost)
    lost = undefined
    append(clock.now())
    openNext()
  }

  function append(timestampMs: number): void {
    const block = progress.block(true, timestampMs)
    canonical.push(block)
    const hashes = block.executed.map(({ tx }) => tx.hash)
    pool.onBlock(hashes, block.state, block.baseFeeWei)
  }

  function reorg({ depth, drops = () => false, inclusion = 1, forced = [] }: ReorgOptions): void {
    const removed = canonical.splice(Math.max(1, canonical.length - depth))
    // The transactions of the block in progress are still in the pool, or wait again.
    progress.returnAdjustments(removed)
    pool.restore(returnedOf(removed, pool, drops), head().state, head().baseFeeWei)
    progress.force(forced)
    for (const old of removed) {
      progress.openAgain(head(), old.baseFeeWei)
      progress.fill(() => chance(random, inclusion))
      append(old.timestampMs)
    }
    openNext()
  }

  function rewind({ blocks, keepsPool }: { readonly blocks: number; readonly keepsPool: boolean }): void {
    canonical.splice(Math.max(1, canonical.length - blocks))
    if (!keepsPool) pool.evict(() => true)
    pool.onBlock([], head().state, head().baseFeeWei)
    openNext()
  }

  function submit(raw: string): Admission & { readonly hash?: Hash } {
    const tx = decodeTransaction(raw)
    if (tx === undefined) return { ok: false, ...refusal('rlp: value size exceeds available input length') }
    for (let index = 1; index <= tx.authorizations; index++) tuples.add(tx.nonce + index)
    const admission = pool.add(tx, head().state)
    return { ...admission, hash: tx.hash }
  }

  function tick(): void {
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
    view: (lagMs = 0) => views.at(lagMs),
    watch: views.watch,
    submit,
    ...beat,
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
    force: (forced) => progress.force([forced]),
    adjust: progress.adjust,
    spikeBaseFee: progress.spikeBaseFee,
    setPressure: (full) => pool.setPressure(full, head().state),
    nextNonce: progress.nonce,
  }
}

/** Drops some transactions of removed blocks from the pool, and returns the others. */
function returnedOf(
  removed: readonly SimBlock[],
  pool: Pool,
  drops: (tx: SimTransaction) => boolean,
): readonly SimTransaction[] {
  const returned: SimTransaction[] = []
  for (const { tx } of removed.flatMap((block) => block.executed)) {
    if (drops(tx)) pool.remove(tx.hash)
    else returned.push(tx)
  }
  return returned
}

/** Calls `tick` at even intervals. The next timer is set before each call. */
function createBeat(setTimer: Clock['setTimer'], intervalMs: number, tick: () => void) {
  let cancel = () => {}
  const set = () => {
    cancel = setTimer(run, intervalMs)
  }
  const run = () => {
    set()
    tick()
  }
  return {
    start() {
      cancel()
      set()
    },
    stop: () => cancel(),
  }
}

/** Block 0. Its hash and its chain id distinguish chains. */
function genesisBlock(settings: ChainSettings, hash: Hash): SimBlock {
  const { accounts, baseFeeWei, clock } = settings
  const withCode = accounts.filter((account) => account.code !== undefined)
  return {
    number: 0,
    hash: `0x${settings.chainId.toString(16).padStart(8, '0')}${hash.slice(10)}`,
    parent: undefined,
    sealed: true,
    timestampMs: clock.now(),
    baseFeeWei,
    executed: [],
    adjustments: [],
    gasUsed: 0,
    words: {},
    state: {
      accounts: new Map(
        accounts.map(({ address, nonce = 0, balanceWei }) => [lower(address), { nonce, balanceWei }]),
      ),
      storage: new Map(),
      code: new Map(withCode.map(({ address, code }) => [lower(address), code as `0x${string}`])),
    },
  }
}

function lower(address: Address): Address {
  return address.toLowerCase() as Address
}

/** The views of the chain so far, for replicas that lag. */
type Views = {
  publish(head: SimBlock, pending: SimBlock | undefined): void
  /** The view of a replica that is `lagMs` behind. */
  at(lagMs: number): View
  watch(listener: () => void): void
}

// The largest lag of a replica, in changes of the view.
const VIEWS_MAX = 1_024

function createViews({ clock, onView }: Pick<ChainSettings, 'clock' | 'onView'>): Views {
  const views: View[] = []
  const watchers: (() => void)[] = []
  return {
    watch: (listener) => void watchers.push(listener),
    publish(head, pending) {
      const view = { atMs: clock.now(), head, pending }
      views.push(view)
      onView(view)
      if (views.length > VIEWS_MAX) views.splice(0, VIEWS_MAX / 2)
      for (const changed of watchers) changed()
    },
    at(lagMs) {
      const atMs = clock.now() - lagMs
      let index = views.length - 1
      if (lagMs > 0) while (index > 0 && (views[index] as View).atMs > atMs) index--
      return views[index] as View
    },
  }
}

// geth accepts 128 KiB (core/txpool, txMaxSize). Smaller here, so that oversized data is quickly made.
const BYTES_MAX = 4_096
const DELEGATED_MAX_BASE = 4

/** geth's pool if no rule of another client is requested; else one modelled on reth's. */
function createPoolOf(settings: ChainSettings, state: State, baseFeeWei: () => bigint): Pool {
  const { rules, gasLimit, replacement, nonceAheadMax, tipStated } = settings
  const { chainId, transactionGasMax, tipWeiMin } = settings
  const limits: AdmissionLimits = {
    chainId,
    transactionGasMax,
    gasLimitMax: gasLimit,
    tipWeiMin,
    tipStated,
    bytesMax: BYTES_MAX,
  }
  const isOther = replacement !== 'bothFees' || nonceAheadMax !== Number.POSITIVE_INFINITY || !tipStated
  if ((rules === 'geth' || rules === 'latest') && !isOther) {
    return createGethSimPool({ ...settings, limits, state })
  }
  return createPool({
    ...limits,
    nonceAheadMax,
    executableMax: settings.executableMax,
    gappedMax: settings.gappedMax,
    delegatedMax: rules === 'base' ? DELEGATED_MAX_BASE : 1,
    priceAt: replacement === 'effectivePrice' ? baseFeeWei : undefined,
  })
}
