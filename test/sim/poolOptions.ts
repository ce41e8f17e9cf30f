import type { Random } from '../../src/platform/clock.js'
import type { ChainOptions } from './chain/options.js'
import { chance, pick } from './random.js'

/** How a world's pool differs from the others', for as long as the world lasts. */
export type PoolPlan = Pick<
  ChainOptions,
  'tipStated' | 'replacement' | 'nonceAheadMax' | 'executableMax' | 'gappedMax' | 'tracksLocals'
>

type Unusual = Omit<PoolPlan, 'tracksLocals'>

/** By name, each with a share of the worlds in which a pool is unusual at all. */
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

/** A stock geth tracks what its users sent; many that serve others do not. Only geth's pool looks at it. */
export function drawLocals(random: Random): PoolPlan {
  return chance(random, 0.5) ? { tracksLocals: true } : {}
}
