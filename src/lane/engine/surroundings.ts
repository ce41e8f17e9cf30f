import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { HoldReason, Logger } from '../../types/index.js'
import type { Broadcaster } from '../broadcast/broadcast.js'
import type { Repair } from '../confirmation/repair.js'
import type { Emitter } from '../emitter.js'
import type { LaneSession } from '../session/laneSession.js'
import type { FeeBudgetGuard } from '../signing/feeBudget.js'
import type { NonceAssigner } from '../signing/nonceAssigner.js'

type SurroundingsContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'onEndpoint' | 'tracker'>
  readonly logger: Logger
  readonly events: Emitter
  readonly session: LaneSession
}

/** Reports a hold as an event and in the log. */
export function reportHold(
  { events, logger, lane }: { readonly events: Emitter; readonly logger: Logger; readonly lane: Lane },
  reason: HoldReason,
  isHeld: boolean,
  detail?: string,
): void {
  logger.warn?.({ reason, detail, lane: lane.key.address }, isHeld ? 'lane held' : 'lane released')
  if (isHeld) events.emit('held', detail === undefined ? { reason } : { reason, detail })
  else events.emit('released', { reason })
}

/**
 * Reacts to changes of the endpoints, which it also emits as events, and of the fee settings. Returns a
 * function that ends this.
 */
export function watchSurroundings(
  { endpointPool, events, session }: SurroundingsContext,
  parts: {
    readonly broadcaster: Pick<Broadcaster, 'kick'>
    readonly budget: Pick<FeeBudgetGuard, 'check'>
    readonly nonceAssigner: NonceAssigner
    readonly repair: Pick<Repair, 'feesChanged'>
  },
): () => void {
  const { broadcaster, budget, nonceAssigner, repair } = parts
  const offEndpoints = endpointPool.onEndpoint(({ port, role, profile, trouble }, change, reason) => {
    const said = change === 'failing' ? trouble?.said : undefined
    const more = { ...(reason === undefined ? {} : { reason }), ...(said === undefined ? {} : { said }) }
    events.emit('endpoint', { name: port.name, role, change, profile: profile.current(), ...more })
    broadcaster.kick()
  })
  // The next signatures, holds, and transactions at their ceiling depend on the fee settings.
  const offFees = session.settings.onChange(() => {
    budget.check()
    repair.feesChanged()
    nonceAssigner.run()
    endpointPool.tracker.wake()
  })
  return () => {
    offEndpoints()
    offFees()
  }
}
