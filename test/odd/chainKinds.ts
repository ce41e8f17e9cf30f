import type { Random } from '../../src/platform/clock.js'
import { createChain } from '../sim/chain/chain.js'
import type { ChainRules } from '../sim/chain/options.js'
import type { SimChain } from '../sim/chain/simChain.js'
import { accountIn } from '../sim/chain/state.js'
import { foreignTransaction } from '../sim/foreign.js'
import { LANE } from '../sim/outside.js'
import type { VirtualClock } from '../sim/virtualClock.js'

/** A kind of chain and its nodes, as a sender perceives them. */
export type ChainKind = {
  readonly rules: ChainRules
  readonly blockTimeMs: number
  readonly lossDepth: 'child' | 'safe' | number
  /** The number of blocks until the proof of a block is settled. */
  readonly settledBlocks: number
  /** A block is made only when there is a transaction: Hardhat's default, and anvil's. */
  readonly onDemand?: true
  /** By default that of Base. */
  readonly chainId?: number
  /** The calls of a batch are executed in any order. */
  readonly parallel?: true
  /**
   * The number of the account's transactions that the pool keeps. A higher nonce is answered with its hash,
   * and dropped.
   */
  readonly poolSlots?: number
}

export const CHAIN_KINDS = {
  rollup: { rules: 'base', blockTimeMs: 2_000, lossDepth: 'child', settledBlocks: 1 },
  mainnet: { rules: 'geth', blockTimeMs: 12_000, lossDepth: 'safe', settledBlocks: 4 },
  reth: { rules: 'reth', blockTimeMs: 2_000, lossDepth: 2, settledBlocks: 2 },
  quick: { rules: 'latest', blockTimeMs: 200, lossDepth: 8, settledBlocks: 8 },
  hardhat: {
    rules: 'geth',
    blockTimeMs: 1_000,
    lossDepth: 'child',
    settledBlocks: 1,
    onDemand: true,
    chainId: 31_337,
    parallel: true,
  },
  deep: { rules: 'geth', blockTimeMs: 2_000, lossDepth: 12, settledBlocks: 12 },
  smallPool: { rules: 'geth', blockTimeMs: 2_000, lossDepth: 'child', settledBlocks: 1, poolSlots: 8 },
} as const satisfies Record<string, ChainKind>

export type ChainName = keyof typeof CHAIN_KINDS

/**
 * More than thirty payments cost at the most absurd price that a fault names. An account that paid that much
 * would really be out of funds.
 */
const BALANCE_WEI = 10n * 10n ** 18n

const HISTORY_PER_BLOCK = 100
/**
 * Blocks between the account's last transaction and the beginning of the world: no stale answer is so old
 * that it lacks a transaction.
 */
const BLOCKS_BEFORE = 15

/** A transaction of another wallet with the lane's key. */
export function foreignOn({ settings }: SimChain): Parameters<SimChain['force']>[0] {
  const { chainId, baseFeeWei, tipWei } = settings
  const maxFeeWei = baseFeeWei * 4n + tipWei
  return {
    from: LANE,
    make: (nonce) => foreignTransaction({ chainId, from: LANE, nonce, maxFeeWei, tipWei, salt: nonce }),
  }
}

/**
 * A chain with the lane's account, which has already sent as many transactions as its nonce says, and with
 * nodes of this kind.
 */
export async function createOddChain(options: {
  readonly kind: ChainKind
  readonly clock: VirtualClock
  readonly random: Random
  readonly nonce: number
}): Promise<SimChain> {
  const { kind, clock, random, nonce } = options
  const { rules, blockTimeMs, chainId } = kind
  const chain = createChain({
    clock,
    setBeat: clock.setQuietTimer,
    random,
    rules,
    blockTimeMs,
    ...(chainId === undefined ? {} : { chainId }),
    accounts: [{ address: LANE, nonce: 0, balanceWei: BALANCE_WEI }],
  })
  for (let used = 0; used < nonce; used += HISTORY_PER_BLOCK) {
    for (let more = Math.min(HISTORY_PER_BLOCK, nonce - used); more > 0; more--) chain.force(foreignOn(chain))
    await clock.advance(blockTimeMs)
    chain.seal()
  }
  if (!kind.onDemand) chain.start()
  await clock.advance(BLOCKS_BEFORE * blockTimeMs)
  const next = () => accountIn(chain.head.state, LANE).nonce
  return Object.create(chain, {
    submit: {
      value(raw: string) {
        const admission = chain.submit(raw)
        if (kind.poolSlots !== undefined) dropAbove(chain, next() + kind.poolSlots)
        if (kind.onDemand && chain.pool.executable(LANE, next()).length > 0) chain.seal()
        return admission
      },
    },
    force: {
      value(forced: Parameters<SimChain['force']>[0]) {
        chain.force(forced)
        if (kind.onDemand) chain.seal()
      },
    },
  }) as SimChain
}

/** Silently, as geth drops transactions beyond its `globalslots`. */
function dropAbove(chain: SimChain, nonce: number): void {
  chain.pool.evict((tx) => tx.from === LANE && tx.nonce >= nonce)
}
