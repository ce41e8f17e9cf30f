import type { Sender } from '../../../../src/index.js'
import { EXIT } from '../../shared/program.js'
import type { Progress } from '../../shared/progress.js'

export type Interrupt = { readonly stopped: () => boolean; readonly off: () => void }

/**
 * The first interrupt stops the run and follows the signed transactions for a while. The second one exits at
 * once; the journal has everything.
 */
export function onInterrupt(sender: Pick<Sender, 'close'>, progress: Progress): Interrupt {
  let stopped = false
  const stop = () => {
    if (stopped) process.exit(EXIT.interrupted)
    stopped = true
    // The lines that are left would count as failed.
    progress.stop()
    progress.say(
      'Stopping: no further line is begun, and signed lines are followed for a while. Press Ctrl-C again to exit at once.',
    )
    void sender.close()
  }
  process.on('SIGINT', stop)
  return { stopped: () => stopped, off: () => void process.off('SIGINT', stop) }
}
