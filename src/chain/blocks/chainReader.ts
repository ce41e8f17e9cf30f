import type { Clock } from '../../platform/clock.js'
import { decodeHeader, headerCall } from '../../rpc/codec.js'
import { isRateLimit } from '../../rpc/errors.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { FetchBlocks } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { decoded, isUnanswered, sealedOf } from './tickParts.js'

export type ChainReaderOptions = {
  readonly clock: Clock
  /** The endpoint that is read now. The results of a tick are dropped if this changes during the tick. */
  readonly port: () => Port
  /**
   * Calls that identify the chain. They are sent with the first request to an endpoint, with the first one
   * after a failure, and with blocks that had to be fetched: no block of another chain may look like ours, or
   * like a reorg.
   */
  readonly identity?: {
    readonly calls: readonly RpcCall[]
    /** Undefined if the replies prove nothing. */
    holds(replies: readonly RpcReply[]): boolean | undefined
  }
  /** The endpoint that is read is on another chain. */
  readonly onWrongChain?: () => void
  readonly timeoutMs: number
}

/** Sends the requests of ticks, and verifies that the endpoint is on our chain. */
export type ChainReader = {
  /**
   * The replies; undefined if the endpoint is not `trusted` to be on our chain, and does not prove that it is.
   * The identity is read before and after the calls: an endpoint that returns to our chain in the middle of a
   * batch is only right at the end.
   *
   * If the endpoint answers only a part, and refuses the next call for its rate, that call and the later ones are asked again.
   * Otherwise an endpoint that refuses most requests would never answer all the requests that it is asked in parts.
   *
   * @param needed the number of calls that are repeated so. The others may stay without an answer. @default all
   */
  ask(
    port: Port,
    calls: readonly RpcCall[],
    trusted: boolean,
    needed?: number,
  ): Promise<readonly RpcReply[] | undefined>
  /** Fetches the blocks of a walk from this endpoint, as long as it is the one that is read. */
  fetchFrom(port: Port): FetchBlocks
}

const POLL = { priority: 'poll', together: true } as const
/** The shortest time before refused calls are asked again. The request budget may add to it. */
const AGAIN_MS = 250

export function createChainReader(options: ChainReaderOptions): ChainReader {
  const { clock, identity, timeoutMs } = options

  /** Ends once no further call was answered for `timeoutMs`. */
  async function askInParts(
    port: Port,
    calls: readonly RpcCall[],
    isNeeded: (index: number) => boolean,
  ): Promise<readonly RpcReply[]> {
    let replies: readonly RpcReply[] = []
    let answered = 0
    let untilMs = clock.now() + timeoutMs
    for (;;) {
      const rest = await port.batch(calls.slice(answered), { ...POLL, timeoutMs })
      replies = [...replies.slice(0, answered), ...rest]
      const open = replies.findIndex((reply, index) => isNeeded(index) && isRefused(reply))
      if (open > answered) untilMs = clock.now() + timeoutMs
      answered = open
      const isOver = clock.now() >= untilMs || port !== options.port()
      if (isOver || open <= 0 || !isRateLimited(replies[open] as RpcReply)) return replies
      await new Promise<void>((resolve) => void clock.setTimer(resolve, AGAIN_MS))
    }
  }

  async function ask(port: Port, calls: readonly RpcCall[], trusted: boolean, needed = calls.length) {
    const around = trusted || identity === undefined ? [] : identity.calls
    const end = around.length + calls.length
    const isNeeded = (index: number) => index < around.length + needed || index >= end
    const replies = await askInParts(port, [...around, ...calls, ...around], isNeeded)
    if (identity === undefined || around.length === 0) return replies
    const holds = [replies.slice(0, around.length), replies.slice(end)].map(identity.holds)
    if (holds.includes(false)) options.onWrongChain?.()
    return holds.every(Boolean) ? replies.slice(around.length, end) : undefined
  }

  return {
    ask,
    fetchFrom: (port) => async (numbers, how) => {
      const replies = await ask(port, numbers.map(headerCall), how === 'linked')
      if (replies === undefined || port !== options.port()) return undefined
      const blocks = replies.map((reply) => sealedOf(decoded(reply, decodeHeader)))
      return blocks.every((block, index) => block?.number === numbers[index])
        ? (blocks as SealedBlock[])
        : undefined
    },
  }
}

const isRefused = (reply: RpcReply) => isUnanswered(reply) || isRateLimited(reply)

function isRateLimited(reply: RpcReply): boolean {
  if (reply.ok) return false
  const { failure } = reply
  if (failure.kind === 'http') return failure.status === 429
  return failure.kind === 'rpc' && isRateLimit(failure.code, failure.message)
}
