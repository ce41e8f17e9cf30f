import type { Address, Hex } from 'viem'
import type { Clock, Random } from '../../../src/platform/clock.js'
import type { View } from './block.js'

/**
 * How a node behaves, as a whole. `base`: flashblocks, `pending` shows them and does not count the mempool.
 * `geth`, `reth`: `pending` counts the mempool. `latest`: `pending` equals `latest` (MegaETH, Monad).
 */
export type ChainRules = 'base' | 'geth' | 'reth' | 'latest'

export type PendingSemantics = 'preconfirmed' | 'mempool' | 'latest'

export type GenesisAccount = {
  readonly address: Address
  readonly nonce?: number
  readonly balanceWei: bigint
  readonly code?: Hex
}

export type ChainOptions = {
  readonly clock: Clock
  /** Sets the timer of the chain's own beat, most of all timers of a world. @default the clock's `setTimer` */
  readonly setBeat?: Clock['setTimer']
  /** Called with each view that the chain shows from then on. */
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
  /** Where the base fee returns to. @default 1_000_000 */
  readonly baseFeeWei?: bigint
  /** How far it moves by chance from block to block, as a part of itself. @default 0 */
  readonly baseFeeNoise?: number
  /** What `eth_maxPriorityFeePerGas` suggests. @default 100_000 */
  readonly tipWei?: bigint
  /** Below it a transaction is underpriced. @default 1 */
  readonly tipWeiMin?: bigint
  /** Whether the refusal names that minimum, as geth's does, or not, as reth's. @default true */
  readonly tipStated?: boolean
  /**
   * What takes the place of a pooled transaction: both fees by a tenth (geth, reth), or the effective price (Besu
   * TransactionReplacementByFeeMarketRule). @default 'bothFees'
   */
  readonly replacement?: 'bothFees' | 'effectivePrice'
  /** How far above the account's nonce one may be: zkSync Era refuses what is further. @default any */
  readonly nonceAheadMax?: number
  /**
   * The node answers with the hash what its pool refuses for now, and adds what the pool lacks again, as geth does unless
   * `--txpool.nolocals` is given. @default false
   */
  readonly tracksLocals?: boolean
  /** How often geth's pool counts a transaction only a moment after its answer. @default 0 */
  readonly poolLag?: number
  /** Executable transactions of an account; what is beyond is dropped without a word (geth with few slots). @default any */
  readonly executableMax?: number
  /** Gapped transactions of an account; what is beyond is dropped without a word. @default 64 */
  readonly gappedMax?: number
  /** @default 30_000_000 */
  readonly gasLimit?: number
  /** A transaction with more is refused (EIP-7825). @default 16_777_216 */
  readonly transactionGasMax?: number
  /** How far `safe` and `finalized` are behind the head, in blocks. @default 4 and 8 */
  readonly safeDepth?: number
  readonly finalizedDepth?: number
  /** What the block in progress shows as its hash: Base has been seen with each. @default 'partial' */
  readonly pendingHash?: 'partial' | 'zero' | 'null'
  /** Most transactions that go into one flashblock, or into one block without. @default no limit */
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
    safeDepth: 4,
    finalizedDepth: 8,
    pendingHash: 'partial',
    transactionsPerStepMax: Number.POSITIVE_INFINITY,
    ...options,
    pending: PENDING[rules],
  }
}
