import { findGeth, NO_GETH } from '../../test/nodes/find/geth.js'
import type { Claim, Outcome } from '../claim.js'
import { eventLoop } from './delivery/eventLoop.js'
import { idle } from './delivery/idle.js'
import { metered } from './delivery/metered.js'
import { PART_NAMES, type PartName } from './delivery/names.js'
import { opening } from './delivery/opening.js'
import { type Part, TRANSACTIONS, together } from './delivery/part.js'
import { recovery } from './delivery/recovery.js'
import { roundTrips } from './delivery/roundTrips.js'
import { slowBlocks } from './delivery/slowBlocks.js'

const PARTS: Readonly<Record<PartName, Part>> = {
  roundTrips,
  slowBlocks,
  metered,
  recovery,
  opening,
  eventLoop,
  idle,
}

export const claim: Claim = {
  says: 'Long round trips, slow blocks, metered endpoints and losses cost no more than the path itself.',
  transactions: TRANSACTIONS,
  async run(context) {
    const geth = await findGeth()
    if (geth === undefined) return { leftOut: NO_GETH }
    const outcomes: Outcome[] = []
    for (const name of PART_NAMES) {
      if (context.parts.length > 0 && !context.parts.includes(name)) continue
      const say = (line: string) => context.say(`${name}: ${line}`)
      outcomes.push(await PARTS[name]({ ...context, say, geth }))
    }
    return together(outcomes)
  },
}
