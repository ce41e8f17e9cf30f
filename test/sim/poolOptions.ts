import type { Random } from '../../src/clock.js'
import type { ChainOptions } from './chain/options.js'
import { chance, pick } from './random.js'

/** How a world's pool differs from the others', for as long as the world lasts. */
export type PoolPlan = Pick<
  ChainOptions,
  'tipStated' | 'replacement' | 'nonceAheadMax' | 'executableMax' | 'gappedMax'
>

/** By name, each with a share of the worlds in which a pool is unusual at all. */
const UNUSUAL: { readonly [O in keyof PoolPlan]-?: readonly NonNullable<PoolPlan[O]>[] } = {
  tipStated: [false],
  replacement: ['effectivePrice'],
  nonceAheadMax: [2, 5, 20],
  executableMax: [1, 4, 8],
  gappedMax: [0, 1, 4],
}

export const POOL_OPTIONS = Object.keys(UNUSUAL) as readonly (keyof PoolPlan)[]

const SHARE = 0.2

export function drawPool(random: Random): PoolPlan {
  if (!chance(random, SHARE)) return {}
  const drawn = POOL_OPTIONS.filter(() => chance(random, 0.4))
  return Object.fromEntries(drawn.map((option) => [option, pick<unknown>(random, UNUSUAL[option])]))
}
