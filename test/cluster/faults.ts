import { systemClock } from '../../src/platform/clock.js'
import { pause } from '../support/pause.js'
import type { Lanes } from './lanes.js'
import type { Member } from './member.js'
import type { Fault } from './plan.js'

/** How long to wait for a request in which the process can stop. */
const REQUEST_MS = 10_000

export type Struck = {
  /** The struck process, described for people. */
  readonly what: string
  /** Resolves once the fault is over and its effect is undone. */
  readonly back: Promise<void>
}

/** Inflicts the planned fault. Returns undefined if there is no process that it can strike. */
export async function strike(
  fault: Fault,
  parts: {
    readonly members: readonly Member[]
    readonly lanes: Lanes
    readonly restart: (() => Promise<void>) | undefined
  },
): Promise<Struck | undefined> {
  const { members, lanes } = parts
  await pause(fault.afterMs)
  if (fault.kind === 'restart the database') {
    await parts.restart?.()
    return { what: 'PostgreSQL', back: Promise.resolve() }
  }
  const running = members.filter(({ state }) => state === 'running')
  // The last running process has to do the work.
  if (running.length < 2) return undefined
  const lane = fault.holderOf
  const holder =
    lane === undefined ? undefined : running.find(({ number }) => number === lanes.holderOf(lane))
  const victim = holder ?? (running[Math.floor(fault.anyOf * running.length)] as Member)
  const what = `process ${victim.number}${holder ? `, which has lane ${lane}` : ''}`
  switch (fault.kind) {
    case 'kill':
      lanes.lost(victim.number, 'killed', systemClock.wallNow())
      await victim.kill()
      return { what, back: pause(fault.backAfterMs).then(() => victim.start()) }
    case 'stop':
      lanes.lost(victim.number, 'stopped', systemClock.wallNow())
      victim.stop()
      return { what, back: pause(fault.backAfterMs).then(victim.goOn) }
    case 'stop in a request':
      if (!(await victim.stopInRequest(REQUEST_MS))) return undefined
      lanes.lost(victim.number, 'stopped', systemClock.wallNow())
      return { what, back: pause(fault.backAfterMs).then(victim.goOn) }
    case 'close':
      lanes.lost(victim.number, 'closed', systemClock.wallNow())
      await victim.close()
      return { what, back: pause(fault.backAfterMs).then(() => victim.start()) }
    default:
      return fault.kind satisfies never
  }
}
