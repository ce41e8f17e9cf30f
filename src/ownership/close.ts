import type { Engine } from '../lane/engine/engineTypes.js'
import type { Limits } from '../types/index.js'

/** Finishes what is reserved, and fills gaps within `closeTimeoutMs`. Nothing new is taken on. */
export async function closeLeader(engine: Engine, limits: Limits): Promise<void> {
  // Again for what came in, or lost its nonce, meanwhile.
  for (let rounds = 0; rounds < 2 && !engine.context.closed; rounds++) {
    engine.intake.close()
    await finish(engine, limits.closeTimeoutMs)
    if (engine.waiting === 0) break
  }
}

/** A gap is filled by its timer, and may turn out to be none with any tick: neither is to be hurried. */
const LOOK_AGAIN_MS = 50

/** Until nothing is being signed or sent and no gap is left, or the time is up. */
async function finish(engine: Engine, timeoutMs: number): Promise<void> {
  const { context } = engine
  const { book } = context.lane
  let late = false
  let off = () => {}
  let cancelLook = () => {}
  const timeUp = new Promise<void>((resolve) => {
    // Whoever has the lane by now finishes it, and the clock of this one stands still.
    off = context.closing.listen(resolve)
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
      // Without a signer nobody fills a gap.
      if (late || context.signer === undefined || book.lowestHole() === undefined) return
      await new Promise<void>((resolve) => {
        cancelLook = context.clock.setTimer(resolve, LOOK_AGAIN_MS)
      })
    }
  }
}
