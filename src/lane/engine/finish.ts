import { onAbort } from '../../platform/onAbort.js'
import type { Admitting } from './admitting.js'
import type { Core } from './core.js'
import type { Sending } from './sending.js'

/** Finishes the reserved nonces, and fills gaps within `closeTimeoutMs`. No new transaction is admitted. */
export async function finishWork(core: Core, sending: Sending, { intake }: Admitting): Promise<void> {
  const { context } = core
  // A second round serves transactions that arrived, or lost their nonce, during the first one.
  for (let rounds = 0; rounds < 2 && !context.closed; rounds++) {
    intake.close()
    await finish(core, sending, context.limits.closeTimeoutMs)
    if (intake.open === 0) break
  }
}

/** A timer fills a gap, and any tick may show that it is none. The close only looks again after this time. */
const LOOK_AGAIN_MS = 50

/** Resolves when nothing is being signed or sent and no gap is left, or the time is up. */
async function finish(
  { context }: Core,
  { signing, broadcaster }: Sending,
  timeoutMs: number,
): Promise<void> {
  const { book, journal } = context.lane
  let late = false
  let off = () => {}
  let cancelLook = () => {}
  const timeUp = new Promise<void>((resolve) => {
    // Another owner finishes the lane then, and the clock of this engine stands still.
    off = onAbort(context.closing, resolve)
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
  off()
  cancelLook()

  async function settled(): Promise<void> {
    for (;;) {
      await signing.idle()
      await journal.flushed()
      await broadcaster.idle()
      // Without a signer a gap stays.
      if (late || context.signer === undefined || book.lowestHole() === undefined) return
      await new Promise<void>((resolve) => {
        cancelLook = context.clock.setTimer(resolve, LOOK_AGAIN_MS)
      })
    }
  }
}
