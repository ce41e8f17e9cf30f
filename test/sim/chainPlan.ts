import type { Random } from '../../src/platform/clock.js'
import type { ChainKind, ChainOptions, ChainRules } from './chain/options.js'
import { chance, pick } from './random.js'

/** The kind of a world's chain, and everything that depends on the kind alone. */
export type ChainPlan = {
  readonly kind: ChainKind
  readonly rules: ChainRules
  /** The options of a fast chain. */
  readonly fast: Pick<ChainOptions, 'deposits' | 'stampsMs'>
}

export type LossDepth = 'child' | 'safe' | number

export const SLOW_KINDS = ['preconfirmed', 'plain'] as const satisfies readonly ChainKind[]
export const CHAIN_KINDS = [...SLOW_KINDS, 'fastBlocks'] as const satisfies readonly ChainKind[]

/** The declaration of a single sequencer: no block leaves once it has a child and this age. */
export const CHILD_MS = 2_000
const FAST_BLOCK_MS = 200
/** The fast blocks of that time. */
const CHILD_BLOCKS = CHILD_MS / FAST_BLOCK_MS

const FAST_SHARE = 1 / 3

/**
 * The kind of chain among `kinds`. A world that is not fast has the chain that the rules say, so that found
 * seeds keep their worlds.
 */
export function drawChain(random: Random, rules: ChainRules, kinds: readonly ChainKind[]): ChainPlan {
  const isFast = chance(random, FAST_SHARE)
  const drawn = rules === 'base' ? 'preconfirmed' : 'plain'
  const others = kinds.filter((kind) => kind !== 'fastBlocks')
  if (kinds.includes('fastBlocks') && (isFast || others.length === 0)) {
    // Since its blocks of 200 ms, Base answers `pending` as stock reth does.
    return { kind: 'fastBlocks', rules: 'reth', fast: { deposits: 2, stampsMs: chance(random, 0.5) } }
  }
  if (others.includes(drawn)) return { kind: drawn, rules, fast: {} }
  if (drawn === 'plain') return { kind: 'preconfirmed', rules: 'base', fast: {} }
  return { kind: 'plain', rules: pick<ChainRules>(random, ['geth', 'reth', 'latest']), fast: {} }
}

export function drawLossDepth(random: Random, kind: ChainKind): LossDepth {
  switch (kind) {
    case 'preconfirmed':
      return pick(random, ['child', 'child', 'child', 3])
    case 'fastBlocks':
      return pick(random, ['child', 'child', 'child', 12, 'safe'])
    case 'plain':
      return pick(random, [2, 3, 'safe'])
  }
}

export function drawBlockTimeMs(random: Random, kind: ChainKind): number {
  if (kind === 'fastBlocks') return FAST_BLOCK_MS
  return kind === 'preconfirmed' ? 2_000 : pick(random, [1_000, 2_000, 4_000])
}

// How much deeper than `lossDepth` the reorgs of a deep world go, on chains with slow and with fast blocks.
const DEEPER_MAX = 3
const DEEPER_MAX_FAST = 20

/**
 * The deepest reorg of a world. Within the promises, one child of a slow chain proves a block, so with `child`
 * only the child may be removed; on a fast chain it is all that is younger than `CHILD_MS`. Otherwise it is one
 * block fewer than the depth.
 */
export function reorgDepthMax(
  kind: ChainKind,
  lossDepth: LossDepth,
  { safeDepth, deep }: { readonly safeDepth: number; readonly deep: boolean },
): number {
  const isFast = kind === 'fastBlocks'
  const deeper = deep ? (isFast ? DEEPER_MAX_FAST : DEEPER_MAX) : 0
  if (isFast) return CHILD_BLOCKS - 1 + deeper
  if (lossDepth === 'child') return 1 + deeper
  return (lossDepth === 'safe' ? safeDepth : lossDepth) - 1 + deeper
}
