import type { Address } from 'viem'
import type { Clock, Random } from '../../../src/platform/clock.js'
import { createGethPool, type GethPool } from '../../../tools/devnet/geth/gethPool.js'
import { createLocalTracker } from '../../../tools/devnet/geth/localTracker.js'
import { GETH_LIMITS, type GethHead, type PoolTransaction } from '../../../tools/devnet/geth/poolTypes.js'
import { chance } from '../random.js'
import type { SimTransaction } from '../transaction.js'
import { type AdmissionLimits, refusal, refuseBytes } from './admission.js'
import { costWei } from './execute.js'
import type { Pool } from './pool.js'
import { accountIn, type State } from './state.js'

export type GethSimPoolOptions = {
  readonly clock: Clock
  readonly random: Random
  readonly limits: AdmissionLimits
  readonly state: State
  /** The limit on gapped transactions of an account. */
  readonly gappedMax: number
  /** Executable transactions of an account that the pool keeps regardless of other accounts. */
  readonly executableMax: number
  /** The node answers temporary refusals with the hash, and re-adds transactions missing from its pool. */
  readonly tracksLocals: boolean
  /**
   * The probability that a transaction becomes executable only a moment after its answer. Each time it does,
   * the reorganisation runs in the background.
   */
  readonly poolLag: number
}

type Entry = PoolTransaction & { readonly hash: SimTransaction['hash']; readonly tx: SimTransaction }

// The longest time between an answer and the reorganisation of the pool, if that is not immediate.
const REORGANISE_MS_MAX = 5

/**
 * The model of geth's pool on a simulated chain: `tools/devnet/geth`, which is compared with a running geth.
 */
export function createGethSimPool(options: GethSimPoolOptions): Pool {
  const { clock, limits, gappedMax, executableMax } = options
  let { state } = options
  let tipWeiMin = limits.tipWeiMin
  const stranded = new Set<string>()
  const passedOver = new Set<string>()
  // geth replaces 0 by 1.
  const accountQueue = Math.max(1, gappedMax)
  let own = slotsFor(executableMax)
  let head = headOf(state, limits, undefined)
  const pool = createGethPool<Entry>({
    head,
    limits: { accountQueue, ...own },
    tipWeiMin,
    refuse: ({ tx }) => refuseBytes(tx, { ...limits, tipWeiMin })?.message,
  })
  const tracker = createLocalTracker(pool, clock.now())
  const reorganisation = createReorganisation(pool, options)

  function reset(next: State, baseFeeWei: bigint, reinjected: readonly SimTransaction[]): void {
    state = next
    head = headOf(next, limits, baseFeeWei)
    pool.reset(head, reinjected.map(entryOf))
  }

  /** The executable transactions of an account up to one that must stay hidden. */
  function runTo(from: Address, ends: readonly ReadonlySet<string>[]): readonly Entry[] {
    const run = pool.pending(from)
    if (ends.every(({ size }) => size === 0)) return run
    const end = run.findIndex(({ hash }) => ends.some((set) => set.has(hash)))
    return end < 0 ? run : run.slice(0, end)
  }

  const entries = (from: string) => [...pool.pending(from), ...pool.queued(from)]
  const all = () => pool.addresses().flatMap(entries)

  return {
    add(tx) {
      // A transaction that has left the pool comes back like any other.
      if (pool.get(tx.hash) === undefined) for (const marks of [stranded, passedOver]) marks.delete(tx.hash)
      const error = options.tracksLocals ? tracker.send(entryOf(tx)) : pool.add(entryOf(tx))?.message
      if (error !== undefined) return { ok: false, ...refusal(error) }
      reorganisation.soon()
      return { ok: true }
    },
    restore: (txs, at, baseFeeWei) => reset(at, baseFeeWei, txs),
    get: (from, nonce) => entries(from).find((entry) => entry.nonce === nonce)?.tx,
    has: (hash) => pool.get(hash) !== undefined,
    remove: (hash) => void pool.remove(hash),
    settle: () => reorganisation.settle(head),
    executable(from, nonce) {
      const found: SimTransaction[] = []
      let next = nonce
      for (const { tx } of runTo(from, [stranded, passedOver])) {
        if (tx.nonce !== next) continue
        found.push(tx)
        next += 1 + tx.authorizations
      }
      return found
    },
    nextNonce(from, nonce) {
      // A lagging replica shows its older pool, which had no transactions mined since.
      if (nonce < accountIn(state, from).nonce) return nonce
      const shown = runTo(from, [stranded])
      if (shown.length === pool.pending(from).length) return Math.max(nonce, pool.count(from))
      return Math.max(nonce, (shown.at(-1)?.nonce ?? nonce - 1) + 1)
    },
    senders: () => pool.addresses() as readonly Address[],
    of: (from) => entries(from).map(({ tx }) => tx),
    strand(picked) {
      for (const { tx } of all()) if (picked(tx)) stranded.add(tx.hash)
    },
    passOver(picked) {
      for (const { tx } of all()) if (picked(tx)) passedOver.add(tx.hash)
    },
    unstrand(picked) {
      for (const { tx } of all()) if (picked(tx)) stranded.delete(tx.hash)
    },
    evict(picked) {
      const gone = all().filter(({ tx }) => picked(tx))
      for (const { hash } of gone) pool.remove(hash)
      return gone.map(({ tx }) => tx)
    },
    onBlock(_hashes, next, baseFeeWei) {
      reset(next, baseFeeWei, [])
      const nonceOf = (address: string) => accountIn(state, address as Address).nonce
      if (options.tracksLocals && tracker.resubmitDue(clock.now(), nonceOf)) pool.reorganise()
    },
    setPressure(isFull) {
      pool.setLimits(isFull ? PRESSED : own)
      pool.reorganise()
    },
    setExecutableMax(count) {
      own = slotsFor(count)
      pool.setLimits(own)
    },
    setTipMin(wei) {
      tipWeiMin = wei
      pool.setTipMin(wei)
    },
    get lags() {
      return reorganisation.lags
    },
    get version() {
      return pool.version
    },
    get size() {
      return pool.size
    },
  }
}

/** The reorganisation of the pool after an answer, at once or a moment later in the background. */
function createReorganisation(
  pool: GethPool<Entry>,
  { clock, random, poolLag }: Pick<GethSimPoolOptions, 'clock' | 'random' | 'poolLag'>,
) {
  let isPending = false
  let lags = 0
  return {
    get lags() {
      return lags
    },
    soon(): void {
      if (isPending) return
      if (!chance(random, poolLag)) return pool.reorganise()
      isPending = true
      lags++
      clock.setTimer(() => {
        isPending = false
        pool.reorganise()
      }, random() * REORGANISE_MS_MAX)
    },
    /**
     * Called before a block is built. A pool that is behind its answers is reset first, as by `geth --dev`
     * (`TxPool.Sync`): of transactions that are not executable yet, it keeps as many as above a gap.
     */
    settle(head: GethHead): void {
      if (isPending) pool.reset(head)
      else pool.reorganise()
    },
  }
}

function headOf(
  state: State,
  { gasLimitMax }: AdmissionLimits,
  nextBaseFeeWei: bigint | undefined,
): GethHead {
  return {
    gasLimit: BigInt(gasLimitMax),
    nextBaseFeeWei,
    account(address) {
      const { nonce, balanceWei } = accountIn(state, address as Address)
      const code = state.code.get(address as Address)
      return { nonce, balanceWei, hasCode: code !== undefined && code !== '0x' }
    },
  }
}

const { accountSlots, globalSlots, globalQueue } = GETH_LIMITS
// The transactions of other accounts leave each account its guaranteed slots.
const PRESSED = { accountSlots, globalSlots: accountSlots, globalQueue: accountSlots }

function slotsFor(executableMax: number) {
  if (executableMax === Number.POSITIVE_INFINITY) return { accountSlots, globalSlots, globalQueue }
  return { accountSlots: 1, globalSlots: executableMax, globalQueue }
}

function entryOf(tx: SimTransaction): Entry {
  const { hash, from, nonce, maxFeeWei, tipWei } = tx
  return {
    tx,
    hash,
    from,
    nonce,
    gas: BigInt(tx.gas),
    maxFeePerGas: maxFeeWei,
    maxPriorityFeePerGas: tipWei,
    costWei: costWei(tx),
    slots: 1,
    // Its own tuples only: those of others come as adjustments of the chain.
    authorities: tx.authorizations > 0 ? [from] : [],
  }
}
