import type { Address, Hex } from 'viem'
import type { Clock, Random } from '../../../src/platform/clock.js'
import type { View } from './block.js'

/**
 * How a chain shows its newest transactions. `preconfirmed`: `pending` shows the sequencer's block in
 * progress, every 200 ms. `plain`: it promises nothing. `fastBlocks`: it promises nothing either, and a
 * canonical block comes every 200 ms (Base since November 2026).
 */
export type ChainKind = 'preconfirmed' | 'plain' | 'fastBlocks'

/**
 * The overall behaviour of a node. `base`: flashblocks, `pending` shows them and does not count the mempool.
 * `geth`, `reth`: `pending` counts the mempool. `latest`: `pending` equals `latest` (MegaETH, Monad).
 */
export type ChainRules = 'base' | 'geth' | 'reth' | 'latest'

type PendingSemantics = 'preconfirmed' | 'mempool' | 'latest'

type GenesisAccount = {
  readonly address: Address
  readonly nonce?: number
  readonly balanceWei: bigint
  readonly code?: Hex
}

export type ChainOptions = {
  readonly clock: Clock
  /**
   * Sets the timers of the chain's own rhythm, which are most timers of a world. @default the clock's
   * `setTimer`
   */
  readonly setBeat?: Clock['setTimer']
  /** Called with each new view of the chain. */
  readonly onView?: (view: View) => void
  readonly random: Random
  readonly accounts: readonly GenesisAccount[]
  /** @default 8453 */
  readonly chainId?: number
  /** @default 'base' */
  readonly rules?: ChainRules
  /** @default 2000 */
  readonly blockTimeMs?: number
  /** For `base` only. @default 200 */
  readonly flashblockMs?: number
  /** The value to which the base fee returns. @default 1_000_000 */
  readonly baseFeeWei?: bigint
  /** The random change from block to block, as a share of the base fee. @default 0 */
  readonly baseFeeNoise?: number
  /** The suggestion of `eth_maxPriorityFeePerGas`. @default 100_000 */
  readonly tipWei?: bigint
  /** A lower tip is underpriced. @default 1 */
  readonly tipWeiMin?: bigint
  /** True if the refusal names that minimum, as geth's does; reth's does not. @default true */
  readonly tipStated?: boolean
  /**
   * The condition for replacing a pooled transaction: both fees rise by a tenth (geth, reth), or the
   * effective price does (Besu TransactionReplacementByFeeMarketRule). @default 'bothFees'
   */
  readonly replacement?: 'bothFees' | 'effectivePrice'
  /** The largest distance of a nonce above the account's: zkSync Era refuses higher ones. @default any */
  readonly nonceAheadMax?: number
  /**
   * The node answers temporary refusals of its pool with the hash, and re-adds missing transactions, as geth
   * does without `--txpool.nolocals`. @default false
   */
  readonly tracksLocals?: boolean
  /** The probability that geth's pool counts a transaction only a moment after its answer. @default 0 */
  readonly poolLag?: number
  /**
   * The limit on executable transactions of an account; those above are dropped silently (geth with few
   * slots). @default any
   */
  readonly executableMax?: number
  /** The limit on gapped transactions of an account; those above are dropped silently. @default 64 */
  readonly gappedMax?: number
  /** @default 30_000_000 */
  readonly gasLimit?: number
  /** A transaction with more is refused (EIP-7825). @default 16_777_216 */
  readonly transactionGasMax?: number
  /** True if blocks, transactions and receipts have the field `timestampMs` as well. @default false */
  readonly stampsMs?: boolean
  /** The deposits at the top of each block (type 0x7e, OP stack), which no account of a world has sent. @default 0 */
  readonly deposits?: number
  /**
   * The distance of `safe` and `finalized` to the head, in blocks, at endpoints without tags of their own.
   * @default 4 and 8
   */
  readonly safeDepth?: number
  readonly finalizedDepth?: number
  /** The hash of the block in progress: Base has been observed with each. @default 'partial' */
  readonly pendingHash?: 'partial' | 'zero' | 'null'
  /** The most transactions in one flashblock, or in one block without flashblocks. @default no limit */
  readonly transactionsPerStepMax?: number
}

export type ChainSettings = Required<ChainOptions> & { readonly pending: PendingSemantics }

const PENDING: Record<ChainRules, PendingSemantics> = {
  base: 'preconfirmed',
  geth: 'mempool',
  reth: 'mempool',
  latest: 'latest',
}

export function chainSettings(options: ChainOptions): ChainSettings {
  const rules = options.rules ?? 'base'
  return {
    setBeat: options.clock.setTimer,
    onView: () => {},
    chainId: 8453,
    rules,
    blockTimeMs: 2_000,
    flashblockMs: 200,
    baseFeeWei: 1_000_000n,
    baseFeeNoise: 0,
    tipWei: 100_000n,
    tipWeiMin: 1n,
    tipStated: true,
    replacement: 'bothFees',
    nonceAheadMax: Number.POSITIVE_INFINITY,
    tracksLocals: false,
    poolLag: 0,
    executableMax: Number.POSITIVE_INFINITY,
    gappedMax: 64,
    gasLimit: 30_000_000,
    transactionGasMax: 16_777_216,
    stampsMs: false,
    deposits: 0,
    safeDepth: 4,
    finalizedDepth: 8,
    pendingHash: 'partial',
    transactionsPerStepMax: Number.POSITIVE_INFINITY,
    ...options,
    pending: PENDING[rules],
  }
}

const ONE_WEI = 1n
const NOISE_STEPS = 1_000

/**
 * Moves an eighth of the way back to the usual fee (the most that EIP-1559 allows), with some random noise.
 */
export function nextBaseFee(baseFeeWei: bigint, settings: ChainSettings): bigint {
  const { baseFeeWei: home, baseFeeNoise, random } = settings
  let next = baseFeeWei + (home - baseFeeWei) / 8n
  if (baseFeeNoise > 0) {
    const steps = Math.round((random() * 2 - 1) * baseFeeNoise * NOISE_STEPS)
    next += (next * BigInt(steps)) / BigInt(NOISE_STEPS)
  }
  return next < ONE_WEI ? ONE_WEI : next
}
