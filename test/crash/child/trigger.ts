import type { LifeOrder } from '../asks.js'
import type { Point } from '../points.js'
import { tell } from './tells.js'

/** Counts the passes of the points, and ends the process at the planned one. */
export type Trigger = (point: Point) => void

export function createTrigger(end: LifeOrder['end']): Trigger {
  let passes = 0
  return (point) => {
    if (point !== end?.point || ++passes !== end.pass) return
    if (point.endsWith(':during')) return tell({ tell: 'end me', point })
    tell({ tell: 'ends', point })
    // No handler runs and no buffer is flushed: for the system the process is over when this returns.
    process.kill(process.pid, 'SIGKILL')
  }
}
