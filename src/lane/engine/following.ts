import { createFollower } from '../confirmation/follow.js'
import type { Admitting } from './admitting.js'
import type { Core } from './core.js'
import type { EngineOptions } from './engineTypes.js'
import type { Sending } from './sending.js'

/** The follower of the chain. It turns blocks and counts into events of slots. */
export function createFollowing(
  core: Core,
  options: EngineOptions,
  sending: Sending,
  { preparer }: Pick<Admitting, 'preparer'>,
  /** A tick was not answered. */
  unreachable: () => void,
) {
  const { context, queue, signals, broken } = core
  return createFollower({
    context,
    funds: sending.funds,
    budget: sending.budget,
    seeding: sending.seeding,
    usage: sending.usage,
    regression: sending.regression,
    barrier: sending.barrier,
    blocksNotYetVerified: sending.blocksNotYetVerified,
    finalityIndex: sending.finalityIndex,
    delivered: sending.broadcaster,
    leased: options.leased,
    waiting: () => queue.size + preparer.size,
    transactionOf: sending.stages.transactionOf,
    broken,
    ticked: signals.ticked,
    unreachable,
  })
}
