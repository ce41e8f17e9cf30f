import type { Sender } from '../../../../src/index.js'
import { EXIT } from '../../shared/program.js'
import type { Progress } from '../../shared/progress.js'

export type Interrupt = {
  readonly stopped: () => boolean
  /** Work to do before the sender is closed. */
  before(work: () => Promise<void>): void
  readonly off: () => void
}

/**
 * The first interrupt stops the run and follows the signed transactions for a while. The second one exits at
 * once; the journal has everything.
 */
export function onInterrupt(sender: Pick<Sender, 'close'>, progress: Progress): Interrupt {
  let stopped = false
  let first = async () => {}
  const stop = () => {
    if (stopped) process.exit(EXIT.interrupted)
    stopped = true
    // The lines that are left would count as failed.
    progress.stop()
    progress.say(
      'Stopping: no further line is begun, and signed lines are followed for a while. Press Ctrl-C again to exit at once.',
    )
    void first().finally(() => sender.close())
  }
  process.on('SIGINT', stop)
  return {
    stopped: () => stopped,
    before(work) {
      first = work
    },
    off: () => void process.off('SIGINT', stop),
  }
}
