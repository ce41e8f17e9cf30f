import type { Clock } from '../../platform/clock.js'
import { decodeHeader, headerCall } from '../../rpc/codec.js'
import { isRateLimit } from '../../rpc/limits.js'
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
   * If the endpoint answers only a part, and refuses the next call for its rate, that call and the later ones are
   * asked again. Otherwise an endpoint that refuses most requests would never answer all parts of a request.
   *
   * @param needed for a request that may fail at its first call, and is then made again later: the number of calls
   *   that are repeated until they are answered. The others are repeated twice. @default all, with the first
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
/** How often a call is repeated whose answer a tick can do without. */
const OPTIONAL_TRIES = 2

type Repeats = {
  readonly isNeeded: (index: number) => boolean
  /** The first call is repeated too, although the endpoint has answered none. */
  readonly first: boolean
}

export function createChainReader(options: ChainReaderOptions): ChainReader {
  const { clock, identity, timeoutMs } = options

  /** Ends once no further call was answered for `timeoutMs`. */
  async function askInParts(
    port: Port,
    calls: readonly RpcCall[],
    how: Repeats,
  ): Promise<readonly RpcReply[]> {
    const tries = calls.map(() => 0)
    let replies: readonly RpcReply[] = []
    let from = 0
    let untilMs = clock.now() + timeoutMs
    for (;;) {
      replies = [...replies.slice(0, from), ...(await port.batch(calls.slice(from), { ...POLL, timeoutMs }))]
      const open = replies.findIndex(
        (reply, index) => isRefused(reply) && (how.isNeeded(index) || (tries[index] ?? 0) < OPTIONAL_TRIES),
      )
      if (open > from) untilMs = clock.now() + timeoutMs
      const isOver = clock.now() >= untilMs || port !== options.port() || (open === 0 && !how.first)
      if (open < 0 || isOver || !isLimited(replies[open] as RpcReply)) return replies
      tries[open] = (tries[open] ?? 0) + 1
      from = open
      await new Promise<void>((resolve) => void clock.setTimer(resolve, AGAIN_MS))
    }
  }

  async function ask(port: Port, calls: readonly RpcCall[], trusted: boolean, needed?: number) {
    const around = trusted || identity === undefined ? [] : identity.calls
    const end = around.length + calls.length
    const neededTo = around.length + (needed ?? calls.length)
    const isNeeded = (index: number) => index < neededTo || index >= end
    const how = { isNeeded, first: needed === undefined }
    const replies = await askInParts(port, [...around, ...calls, ...around], how)
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

const isRefused = (reply: RpcReply) => isUnanswered(reply) || isLimited(reply)
const isLimited = (reply: RpcReply) => !reply.ok && isRateLimit(reply.failure)
