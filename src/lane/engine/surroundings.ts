import type { Lane } from '../../allocator/lane.js'
import type { Hub } from '../../chain/endpoints/endpointPool.js'
import type { HoldReason, Logger } from '../../types/index.js'
import type { Broadcaster } from '../broadcast/broadcast.js'
import type { Repair } from '../confirmation/repair.js'
import type { Emitter } from '../emitter.js'
import type { LaneHandle } from '../session/laneSession.js'
import type { FeeBudgetGuard } from '../signing/feeBudget.js'
import type { Pump } from '../signing/nonceAssigner.js'

type SurroundingsContext = {
  readonly lane: Lane
  readonly hub: Hub
  readonly logger: Logger
  readonly events: Emitter
  readonly handle: LaneHandle
}

/** As an event and in the log. */
export function tellHold(
  { events, logger, lane }: { readonly events: Emitter; readonly logger: Logger; readonly lane: Lane },
  reason: HoldReason,
  isHeld: boolean,
  detail?: string,
): void {
  logger.warn?.({ reason, detail, lane: lane.key.address }, isHeld ? 'lane held' : 'lane released')
  if (isHeld) events.emit('held', detail === undefined ? { reason } : { reason, detail })
  else events.emit('released', { reason })
}

/** What changes around a lane: its endpoints, which is told as an event, and what it may offer. Gives back what ends that. */
export function watchSurroundings(
  { hub, events, handle }: SurroundingsContext,
  parts: {
    readonly broadcaster: Pick<Broadcaster, 'kick'>
    readonly budget: Pick<FeeBudgetGuard, 'look'>
    readonly pump: Pump
    readonly repair: Pick<Repair, 'feesChanged'>
  },
): () => void {
  const { broadcaster, budget, pump, repair } = parts
  const offEndpoints = hub.onEndpoint(({ port, role, profile, trouble }, change, reason) => {
    const said = change === 'failing' ? trouble?.said : undefined
    const more = { ...(reason === undefined ? {} : { reason }), ...(said === undefined ? {} : { said }) }
    events.emit('endpoint', { name: port.name, role, change, profile: profile.current(), ...more })
    broadcaster.kick()
  })
  // What is signed next, what is held, and what stands at its ceiling go by it at once.
  const offFees = handle.settings.onChange(() => {
    budget.look()
    repair.feesChanged()
    pump.run()
    hub.tracker.wake()
  })
  return () => {
    offEndpoints()
    offFees()
  }
}
