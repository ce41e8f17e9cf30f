import { bareLoop, bareLoopEstimating, presignedBatches } from './bare.js'
import { CAREFUL } from './careful.js'
import { ethersDefault, ethersGiven } from './ethers.js'
import { idle } from './idle.js'
import { mudDefault } from './mud.js'
import { txlaneDefault, txlaneGiven, txlaneWide } from './txlane.js'
import type { Subject } from './types.js'
import { viemBatched, viemDefault, viemGiven, viemSync } from './viem.js'

/** Subjects of a burst on anvil. */
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

/** Subjects that can run in a separate process, which identifies them by index. */
export const SUBJECTS: readonly Subject[] = [...BURST_SUBJECTS, ethersGiven, ...CAREFUL, idle]
