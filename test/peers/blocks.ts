import { systemClock } from '../../src/platform/clock.js'

// Two flashblocks make a block: 70 ms, fast enough that a run takes a second, slow enough for a poll in
// between.
const TICK_MS = 35
const LOOKS_MAX = 150

export type Blocks = {
  hold(): Promise<void>
  release(): void
  ticks(count: number): Promise<void>
  until(holds: () => boolean | Promise<boolean>): Promise<boolean>
  stop(): Promise<void>
}

/** Makes one flashblock per tick until it is held. Ticks continue while it is held, so that waiting ends. */
export function createBlocks(options: {
  readonly step: () => Promise<void>
  readonly onTick: () => Promise<void>
}): Blocks {
  let held = false
  let stopped = false
  let working: Promise<void> = Promise.resolve()
  let waiting: (() => void)[] = []

  async function tick(): Promise<void> {
    if (!held) await options.step()
    await options.onTick()
  }

  function next(): void {
    systemClock.setTimer(() => {
      if (stopped) return
      working = tick().catch(() => undefined)
      void working.then(() => {
        for (const resolve of waiting.splice(0)) resolve()
        next()
      })
    }, TICK_MS)
  }

  async function ticks(count: number): Promise<void> {
    for (let left = count; left > 0 && !stopped; left -= 1) {
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }

  next()
  return {
    async hold() {
      held = true
      await working
    },
    release() {
      held = false
    },
    ticks,
    async until(holds) {
      for (let left = LOOKS_MAX; left > 0; left -= 1) {
        if (await holds()) return true
        await ticks(1)
      }
      return false
    },
    async stop() {
      stopped = true
      await working
      for (const resolve of waiting.splice(0)) resolve()
      waiting = []
    },
  }
}
