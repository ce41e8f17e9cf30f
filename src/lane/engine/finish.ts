import type { Engine } from './engineTypes.js'
import { onAbort } from '../../platform/onAbort.js'
import type { Limits } from '../../types/index.js'

/** Finishes the reserved nonces, and fills gaps within `closeTimeoutMs`. No new transaction is admitted. */
export async function closeLeader(engine: Engine, limits: Limits): Promise<void> {
  // A second round serves transactions that arrived, or lost their nonce, during the first one.
  for (let rounds = 0; rounds < 2 && !engine.context.closed; rounds++) {
    engine.intake.close()
    await finish(engine, limits.closeTimeoutMs)
    if (engine.waiting === 0) break
  }
}

/** A timer fills a gap, and any tick may show that it is none. The close only looks again after this time. */
const LOOK_AGAIN_MS = 50

/** Resolves when nothing is being signed or sent and no gap is left, or the time is up. */
async function finish(engine: Engine, timeoutMs: number): Promise<void> {
  const { context } = engine
  const { book } = context.lane
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
      await engine.quiet()
      // Without a signer a gap stays.
      if (late || context.signer === undefined || book.lowestHole() === undefined) return
      await new Promise<void>((resolve) => {
        cancelLook = context.clock.setTimer(resolve, LOOK_AGAIN_MS)
      })
    }
  }
}
