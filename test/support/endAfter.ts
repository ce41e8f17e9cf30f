import { systemClock } from '../../src/platform/clock.js'
import { EXIT } from '../../tools/cli/shared/program.js'

/** Ends a run that is stuck: a healthy run has ended by then. */
export function endAfter(timeMs: number): void {
  systemClock.setTimer(() => {
    process.stderr.write(`The run is stuck: it did not end within ${Math.round(timeMs / 1_000)} s.\n`)
    process.exit(EXIT.failed)
  }, timeMs)
}
