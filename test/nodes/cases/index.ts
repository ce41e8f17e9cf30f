import { bursts, plainBurst, smallPoolBurst } from './bursts.js'
import { delegated } from './delegated.js'
import { foreign } from './foreign.js'
import type { NodeCase } from './nodeCase.js'
import { packs } from './packs.js'
import { payouts } from './payouts.js'
import { pendingState } from './pendingState.js'
import { cancel, replace, speedUp } from './pooled.js'
import { poolModel } from './poolModel.js'
import { presets } from './presets.js'
import { quickStart } from './quickStart.js'
import { reads } from './reads.js'
import { refusedCases } from './refused.js'
import { reserved } from './reserved.js'
import { restarts } from './restart.js'
import { rewound } from './rewound.js'
import { stages } from './stages.js'
import { syncSend } from './syncSend.js'

/** The suite: every client runs all cases. */
export const cases: readonly NodeCase[] = [
  quickStart,
  payouts,
  packs,
  reads,
  pendingState,
  ...refusedCases,
  cancel,
  replace,
  speedUp,
  syncSend,
  presets,
  delegated,
  reserved,
  ...bursts,
  plainBurst,
  smallPoolBurst,
  foreign,
  ...restarts,
  rewound,
  stages,
  ...poolModel,
]
