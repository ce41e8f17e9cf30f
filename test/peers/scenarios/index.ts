import type { Scenario } from '../types.js'
import { answers } from './answers.js'
import { bursts } from './bursts.js'
import { chain } from './chain.js'
import { pools } from './pools.js'
import { strangers } from './strangers.js'

// The longest first, so that it runs beside the others.
export const scenarios: readonly Scenario[] = [...pools, ...bursts, ...answers, ...strangers, ...chain]
