import { bareLoop, bareLoopEstimating, presignedBatches } from './bare.js'
import { CAREFUL } from './careful.js'
import { ethersDefault, ethersGiven } from './ethers.js'
import { mudDefault } from './mud.js'
import { txlaneDefault, txlaneGiven, txlaneWide } from './txlane.js'
import type { Subject } from './types.js'
import { viemBatched, viemDefault, viemGiven, viemSync } from './viem.js'

/** All that a burst on anvil is measured of. */
export const BURST_SUBJECTS: readonly Subject[] = [
  txlaneDefault,
  viemDefault,
  ethersDefault,
  mudDefault,
  bareLoopEstimating,
  txlaneGiven,
  txlaneWide,
  viemGiven,
  viemBatched,
  viemSync,
  bareLoop,
  presignedBatches,
]

/** All that can have a process of its own, which knows them by their place. */
export const SUBJECTS: readonly Subject[] = [...BURST_SUBJECTS, ethersGiven, ...CAREFUL]
