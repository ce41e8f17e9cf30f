import { systemClock } from '../../platform/clock.js'
import { whenLoaded } from '../../platform/lazy.js'
import { checkMs } from './arguments.js'
import type { ReadSource } from './source.js'
import type { WatchPendingParameters } from './watchPending.js'

export type Reads = typeof import('./reads.js')

/** `watchPending` by code that may have to be loaded first. Where that fails, it is a poll that failed. */
export function watchWhenLoaded(
  load: () => Reads | Promise<Reads>,
  source: ReadSource,
  parameters: WatchPendingParameters,
): () => void {
  const { intervalMs = 200, signal, onError, clock = systemClock } = parameters
  checkMs(intervalMs, 'intervalMs')
  let stopped = false
  let stop = () => {}

  const over = () => stopped || signal?.aborted === true

  async function begin(): Promise<void> {
    if (over()) return
    try {
      await whenLoaded(load(), async ({ watchPending }) => {
        if (!over()) stop = watchPending(source, parameters)
      })
    } catch (error) {
      if (over()) return
      stop = clock.setTimer(() => void begin(), intervalMs)
      onError?.(error)
    }
  }

  void begin()
  return () => {
    stopped = true
    stop()
  }
}
