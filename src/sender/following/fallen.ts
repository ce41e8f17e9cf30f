import { readCountAtHead } from '../../tracker/evidence.js'
import { type LaneContext, reportError } from '../context.js'
import { untilStopped } from '../unlessStopped.js'

/**
 * Notices that nonces from before our time are empty again: a reorg took away what an earlier life, or another
 * wallet, had sealed there, and nothing of it is in our slots to send again. They are taken up as if they had been
 * seeded (row 8): what comes back is found there, and what does not is filled.
 */
export type FallenCount = {
  /** The `latest` count as a tick read it. */
  count(latest: number, head: number): void
  /** An operator has seen that many nonces are gone: they are taken up too. */
  accept(): void
  /** A count has fallen, and is to be read once more. */
  readonly wanted: boolean
}

/** More nonces than this back at once is no reorg to fill up after, but another chain, or a node that was reset. */
const FALL_MAX = 64

export function createFallenCount(context: LaneContext): FallenCount {
  const { lane, hub } = context
  const { book } = lane
  // Lagging replicas show lower counts all the time: only one that stays low over two heads is looked into.
  let since: number | undefined
  let reading = false
  let fallenTo: number | undefined

  function count(latest: number, head: number): void {
    if (latest >= book.base) {
      // It is back: what an operator lets go on is the lane as it was.
      since = fallenTo = undefined
      return
    }
    since ??= head
    if (head > since && !reading) void look(head)
  }

  async function look(head: number): Promise<void> {
    reading = true
    try {
      await untilStopped(context.closing, (signal) => read(head, signal))
    } catch (error) {
      reportError(context, error)
    } finally {
      reading = false
    }
  }

  async function read(head: number, signal: AbortSignal): Promise<void> {
    const hash = hub.tracker.hashAt(head)
    if (hash === undefined) return
    const { chainId, reader } = hub
    const found = await readCountAtHead(reader.port, {
      address: lane.key.address,
      to: head,
      hash,
      chainId,
      signal,
    })
    if (context.closed || found === undefined || hub.tracker.hashAt(head) !== hash) return
    since = undefined
    if (book.base - found > FALL_MAX) {
      fallenTo = found
      lane.holds.add('deepReorg')
    } else {
      takeUp(found)
    }
  }

  function takeUp(nonce: number): void {
    book.lower(nonce)
    hub.tracker.wake()
  }

  return {
    count,
    accept() {
      if (fallenTo !== undefined) takeUp(fallenTo)
      fallenTo = undefined
    },
    get wanted() {
      return since !== undefined
    },
  }
}
