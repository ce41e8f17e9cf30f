import type { Limits } from '../types.js'
import type { OpenLane } from './open.js'
import { rejectWaiters, tellVerdict } from './transaction.js'
import { closedError } from './waiting.js'

/**
 * Lets go of a lane. The last holder finishes what is reserved, fills gaps within `closeTimeoutMs`, awaits open
 * requests, tells who still waits that nobody watches any more, and gives the lease back last.
 */
export function closeLane(open: OpenLane, limits: Limits): Promise<void> {
  return open.release(async () => {
    const { engine } = open
    const { context } = engine
    // Again for what came in, or lost its nonce, meanwhile.
    for (let rounds = 0; rounds < 2 && !context.closed; rounds++) {
      engine.intake.close()
      await finish(open, limits.closeTimeoutMs)
      if (engine.waiting === 0) break
    }
    engine.stop()
    for (const transaction of context.transactions.values()) {
      rejectWaiters(transaction, closedError(transaction))
      tellVerdict(transaction)
    }
    await context.lane.journal.flushed()
    await open.store.release(context.lane.lease).catch((error: unknown) => {
      context.logger?.warn?.({ error: String(error) }, 'the lease was not given back')
    })
  })
}

/** Until nothing is being signed or sent and no gap is left, or the time is up. */
async function finish({ engine }: OpenLane, timeoutMs: number): Promise<void> {
  const { context } = engine
  const { book } = context.lane
  let late = false
  const timeUp = new Promise<void>((resolve) => {
    const cancel = context.clock.setTimer(() => {
      late = true
      resolve()
    }, timeoutMs)
    void settled().finally(() => {
      cancel()
      resolve()
    })
  })
  await timeUp

  async function settled(): Promise<void> {
    for (;;) {
      await engine.quiet()
      // Without a signer nobody fills a gap.
      if (late || context.signer === undefined || book.lowestHole() === undefined) return
      await context.hub.tracker.nextTick()
    }
  }
}
