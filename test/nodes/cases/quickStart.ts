import type { Sender } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { freshAccount } from '../tools/accounts.js'
import { isOnce, landedOf } from '../tools/landed.js'
import { openLane, payment } from '../tools/lane.js'
import { within } from '../tools/within.js'
import { type NodeCase, seconds } from './nodeCase.js'

const LIMIT_MS = 20_000

/** The first and the second run of the same script: most nodes make no empty blocks in between. */
export const quickStart: NodeCase = {
  name: 'quick start, twice',
  quick: true,
  async run(setting) {
    await using running = await setting.start({ mode: 'plain' })
    const fresh = await freshAccount(running)
    const took: string[] = []
    for (const value of [1n, 2n]) {
      const startMs = systemClock.now()
      await runOnce(await openLane(running, fresh), value)
      took.push(seconds(systemClock.now() - startMs))
    }
    return {
      ok: isOnce(await landedOf(running, fresh), 2),
      says: `first run ${took[0]}, second run ${took[1]}`,
    }
  },
}

async function runOnce(sender: Sender, value: bigint): Promise<void> {
  await within(LIMIT_MS, 'ready()', sender.ready())
  const tx = await within(LIMIT_MS, 'send()', sender.send(payment(value)))
  await within(LIMIT_MS, "wait('sealed')", tx.wait('sealed'))
  await within(LIMIT_MS, 'close()', sender.close())
}
