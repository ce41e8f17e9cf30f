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
    unverifiedNonces: sending.unverifiedNonces,
    finalityIndex: sending.finalityIndex,
    broadcaster: sending.broadcaster,
    leased: options.leased,
    waiting: () => queue.size + preparer.size,
    broken,
    ticked: signals.ticked,
    unreachable,
  })
}
