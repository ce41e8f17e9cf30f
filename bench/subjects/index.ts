import { bareLoop, bareLoopEstimating, presignedBatches } from './bare.js'
import { ethersDefault } from './ethers.js'
import { mudDefault } from './mud.js'
import { txlaneDefault, txlaneGiven, txlaneWide } from './txlane.js'
import type { Subject } from './types.js'
import { viemBatched, viemDefault, viemGiven, viemSync } from './viem.js'

/** All that a burst is measured of. */
export const SUBJECTS: readonly Subject[] = [
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
