import { type Clock, systemClock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import { decodeHeader, headerCall, type LightHeader, sameContents } from '../codec.js'
import { rpcError } from '../errors.js'
import { call } from '../port.js'
import { checkMs } from './arguments.js'
import { type Block, decodeBlock } from './decodeBlock.js'
import { poll } from './poll.js'
import { firstAnswer, type ReadSource, readPorts } from './source.js'

export type WatchPendingParameters = {
  /** Called with the pending block, transactions as hashes, each time its contents are not those of the last one. */
  readonly onBlock: (block: Block<false>) => void
  /** Called for each poll that failed, and with what `onBlock` throws. The polling goes on. @default ignored */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Milliseconds from the start of one poll to the start of the next. @default 200 */
  readonly intervalMs?: number | undefined
  /** Stops it, as the returned function does. */
  readonly signal?: AbortSignal | undefined
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
}

const METHOD = 'eth_getBlockByNumber'

/** Described in `public.ts`. */
export function watchPending(source: ReadSource, parameters: WatchPendingParameters): () => void {
  const { onBlock, onError, intervalMs = 200, signal, clock = systemClock } = parameters
  checkMs(intervalMs, 'intervalMs')
  const ports = readPorts(source, { clock })
  let last: LightHeader | undefined

  async function tick(stopped: AbortSignal): Promise<void> {
    try {
      const result = await firstAnswer(ports, stopped, async (port) => {
        const { method, params } = headerCall('pending')
        const reply = await call(port, method, params, { signal: stopped })
        if (!reply.ok) throw rpcError(METHOD, reply.failure)
        return { header: decodeHeader(reply.result), raw: reply.result }
      })
      if (stopped.aborted || result.header === null) return
      if (last !== undefined && sameContents(last, result.header)) return
      last = result.header
      onBlock(decodeBlock(result.raw, METHOD, false))
    } catch (error) {
      if (!stopped.aborted) onError?.(error)
    }
  }

  if (signal?.aborted) return () => {}
  const stopPolling = poll(clock, intervalMs, tick)
  const stop = () => {
    stopPolling()
    off?.()
  }
  const off = signal && onAbort(signal, stop)
  return stop
}
