import type { Random } from '../../src/platform/clock.js'
import type { ChainOptions } from './chain/options.js'
import { chance, pick } from './random.js'

/** How a world's pool differs from the default, during the whole world. */
export type PoolPlan = Pick<
  ChainOptions,
  'tipStated' | 'replacement' | 'nonceAheadMax' | 'executableMax' | 'gappedMax' | 'tracksLocals'
>

type Unusual = Omit<PoolPlan, 'tracksLocals'>

/** The unusual values by option. Each is drawn for a share of the worlds with an unusual pool. */
const UNUSUAL: { readonly [O in keyof Unusual]-?: readonly NonNullable<Unusual[O]>[] } = {
  tipStated: [false],
  replacement: ['effectivePrice'],
  nonceAheadMax: [2, 5, 20],
  executableMax: [1, 4, 8],
  gappedMax: [0, 1, 4],
}

const UNUSUAL_OPTIONS = Object.keys(UNUSUAL) as readonly (keyof Unusual)[]

export const POOL_OPTIONS: readonly (keyof PoolPlan)[] = [...UNUSUAL_OPTIONS, 'tracksLocals']

const SHARE = 0.2

export function drawPool(random: Random): PoolPlan {
  if (!chance(random, SHARE)) return {}
  const drawn = UNUSUAL_OPTIONS.filter(() => chance(random, 0.4))
  return Object.fromEntries(drawn.map((option) => [option, pick<unknown>(random, UNUSUAL[option])]))
}

/**
 * A stock geth tracks the transactions of its users; many public nodes do not. Only geth's pool uses this
 * option.
 */
export function drawLocals(random: Random): PoolPlan {
  return chance(random, 0.5) ? { tracksLocals: true } : {}
}
