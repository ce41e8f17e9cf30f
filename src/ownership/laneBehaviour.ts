import type { Chain } from 'viem'
import type { LaneOptions } from '../types/index.js'
import { defaultLossDepth } from './recoverLane.js'

/** The options that decide how a lane treats the transactions of all senders, by name; undefined for one that is left out. */
export function laneBehaviour(options: LaneOptions<Chain>): Readonly<Record<string, unknown>> {
  const { broadcast, simulate, gasMultiplier, lossDepth, groups, fees } = options
  return {
    broadcast,
    simulate,
    gasMultiplier,
    lossDepth,
    groups,
    'fees.ceiling': fees?.ceiling,
    'fees.preset': fees?.preset,
    'fees.groups': fees?.groups,
    'fees.budget': fees?.budget,
    'fees.estimate': fees?.estimate,
    'fees.bump.percent': fees?.bump?.percent,
    'fees.bump.attemptsMax': fees?.bump?.attemptsMax,
  }
}

/** The defaults of these options. */
export function behaviourDefaults(chain: Chain): Readonly<Record<string, unknown>> {
  return {
    broadcast: 'first',
    simulate: false,
    gasMultiplier: 1,
    lossDepth: defaultLossDepth(chain),
    'fees.bump.percent': 10,
    'fees.bump.attemptsMax': 12,
  }
}
