import { decodeHeader, headerCall } from '../../rpc/codec.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { FetchBlocks } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { decoded, sealedOf } from './tickParts.js'

export type ChainReaderOptions = {
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
   */
  ask(port: Port, calls: readonly RpcCall[], trusted: boolean): Promise<readonly RpcReply[] | undefined>
  /** Fetches the blocks of a walk from this endpoint, as long as it is the one that is read. */
  fetchFrom(port: Port): FetchBlocks
}

const POLL = { priority: 'poll', together: true } as const

export function createChainReader(options: ChainReaderOptions): ChainReader {
  const { identity, timeoutMs } = options

  async function ask(port: Port, calls: readonly RpcCall[], trusted: boolean) {
    const around = trusted || identity === undefined ? [] : identity.calls
    const replies = await port.batch([...around, ...calls, ...around], { ...POLL, timeoutMs })
    if (identity === undefined || around.length === 0) return replies
    const end = around.length + calls.length
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
