import type { HoldReason } from '../../types.js'
import type { LaneContext } from '../context.js'

/** Tells who listens, and the log, that a hold came or went. */
export function tellHold(
  { logger, events, lane }: Pick<LaneContext, 'logger' | 'events' | 'lane'>,
  reason: HoldReason,
  isHeld: boolean,
  detail?: string,
): void {
  logger.warn?.({ reason, detail, lane: lane.key.address }, isHeld ? 'lane held' : 'lane released')
  if (isHeld) events.emit('held', detail === undefined ? { reason } : { reason, detail })
  else events.emit('released', { reason })
}

/** Tells who listens of each change of an endpoint, until it is called off. */
export function tellEndpoints(
  { hub, events }: Pick<LaneContext, 'hub' | 'events'>,
  changed: () => void,
): () => void {
  return hub.onEndpoint(({ port, role, profile, trouble }, change, reason) => {
    const said = change === 'failing' ? trouble?.said : undefined
    const more = { ...(reason === undefined ? {} : { reason }), ...(said === undefined ? {} : { said }) }
    events.emit('endpoint', { name: port.name, role, change, profile: profile.current(), ...more })
    changed()
  })
}
