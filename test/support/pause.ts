import { systemClock } from '../../src/platform/clock.js'

export function pause(timeMs: number): Promise<void> {
  return new Promise((resolve) => systemClock.setTimer(resolve, timeMs))
}
