import type { Lane } from '../../allocator/lane.js'
import { confirms } from '../../allocator/readings.js'
import { readCountAtHead } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { isBound } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { createOneAtATime } from '../../platform/oneAtATime.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import { countsElsewhere, shownByBlocks } from './counts.js'

type NonceRegressionContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'chainId' | 'doubtReader' | 'others' | 'reader' | 'tracker'>
  readonly clock: Clock
  readonly limits: Limits
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly closing: AbortSignal
  readonly closed: boolean
}

/**
 * Detects that the account's count is lower than this lane believed: a believed count is refuted, a reorg
 * removed transactions that an earlier process or another wallet had mined, or the node was reset. The nonces
 * become free again, because nothing of this lane is bound to them.
 */
export type NonceRegression = {
  /** The `latest` count that a tick has read. */
  count(latest: number, head: number): void
  /** An operator has confirmed that final nonces are gone, so they become free too. */
  accept(): void
  /** A lower count was read, and has to be confirmed by another reading. */
  readonly wanted: boolean
}

/** More empty nonces than this below signed transactions are not filled without an operator. */
const FILL_MAX = 64

export function createNonceRegression(context: NonceRegressionContext): NonceRegression {
  const { lane, endpointPool, clock } = context
  const { book } = lane
  const tracker = endpointPool.tracker
  let since: { readonly head: number; readonly atMs: number } | undefined
  const asking = createOneAtATime(context)
  let droppedTo: number | undefined
  // The hold that was set because of the count alone.
  let hold: 'jump' | 'deepReorg' | undefined

  function holdFor(reason: 'jump' | 'deepReorg', found: number, detail: string): void {
    droppedTo = found
    // A deep reorg has a separate cause, so its hold does not end with the count.
    if (reason === 'jump' || !lane.holds.has('deepReorg')) hold = reason
    lane.holds.add(reason, detail)
  }

  function count(latest: number, head: number): void {
    if (latest >= book.base && latest >= unprovenTo()) {
      // The count has recovered, so a later `resume()` must not free these nonces.
      since = undefined
      if (droppedTo === undefined) return
      droppedTo = undefined
      if (hold !== undefined) lane.holds.lift(hold)
      hold = undefined
      return
    }
    const reading = { head, atMs: clock.now() }
    since ??= reading
    // Lagging replicas report lower counts all the time.
    if (confirms(since, reading)) asking.run(() => read(head))
  }

  async function read(head: number): Promise<void> {
    const hash = tracker.hashAt(head)
    if (hash === undefined) return
    const { chainId, reader } = endpointPool
    const { address } = lane.key
    const signal = context.closing
    const found = await readCountAtHead(reader.port, { address, to: head, hash, chainId, signal })
    since = undefined
    if (context.closed || found === undefined || tracker.hashAt(head) !== hash) return
    const shown = shownByBlocks(context)
    if (found < shown) {
      endpointPool.doubtReader(
        `the endpoint counts ${found} used nonces, and its own blocks hold a transaction with nonce ${shown - 1}`,
      )
    } else if (await isHigherElsewhere(found)) {
      endpointPool.doubtReader(`the endpoint counts ${found} used nonces, and another endpoint counts more`)
    } else if (found < book.finalTo) {
      holdFor('deepReorg', found, resetDetail(found, book.finalTo, head))
      context.events.emit('deepReorg', { nonce: found })
    } else if (book.base - found > FILL_MAX && isBoundFrom(found)) {
      holdFor('jump', found, gapDetail(found, book.base))
    } else {
      giveBack(found)
    }
  }

  async function isHigherElsewhere(found: number): Promise<boolean> {
    const others = await countsElsewhere(endpointPool, lane.key.address, context.limits.readTimeoutMs)
    return others.some((count) => count > found)
  }

  /**
   * The end of the nonces that are only believed to be used, although something of this lane is bound to
   * them.
   */
  function unprovenTo(): number {
    let end = 0
    for (const nonce of book.unproven) end = Math.max(end, nonce + 1)
    return end
  }

  function isBoundFrom(nonce: number): boolean {
    for (const slot of book.slots.values()) if (slot.nonce >= nonce && isBound(slot)) return true
    return false
  }

  /**
   * Frees the nonces from this one on. Nonces that another sender may use again become a hypothesis. The
   * others become free, or are filled if something is bound above them.
   */
  function giveBack(nonce: number): void {
    for (const bound of [...book.unproven])
      if (bound >= nonce) lane.apply(bound, { type: 'refuted', token: lane.token() })
    book.lower(nonce)
    tracker.wake()
  }

  return {
    count,
    accept() {
      if (droppedTo !== undefined) giveBack(droppedTo)
      droppedTo = undefined
      hold = undefined
    },
    get wanted() {
      return since !== undefined
    },
  }
}

function resetDetail(found: number, finalTo: number, head: number): string {
  return `The endpoint counts ${found} used nonces at block ${head}, and this lane has seen ${finalTo} become final: the node was reset, or lost blocks. Let it catch up, or call resume() to go on from its count.`
}

function gapDetail(found: number, base: number): string {
  return `The account stands at nonce ${found}, and this lane has signed transactions from nonce ${base} on: more than ${FILL_MAX} empty nonces are not filled by themselves. The hold lifts when the count is higher again; resume() fills them.`
}
