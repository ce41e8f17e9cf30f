import { systemClock } from '../../../src/platform/clock.js'
import { startNodeProxy } from '../../support/nodeProxy.js'
import { freshAccount } from '../tools/accounts.js'
import { isOnce, landedOf } from '../tools/landed.js'
import { openLane, startBurst, until } from '../tools/lane.js'
import { within } from '../tools/within.js'
import { type NodeCase, seconds } from './nodeCase.js'

const WAVE = 50
const LIMIT_MS = 60_000
/** A third of them is sent twice. */
const SENDS_MAX = 2

/**
 * The node removes blocks from its chain (`debug_setHead`, `evm_revert`): their transactions have to land
 * again.
 */
export const rewound: NodeCase = {
  name: 'chain taken back in mid-burst',
  async run(setting) {
    await using running = await setting.start({ mode: 'interval' })
    await using proxy = await startNodeProxy(running.url)
    const fresh = await freshAccount(running)
    // No node here has a useful `safe` block: it is the head, or far below it.
    const sender = await openLane(running, fresh, { url: proxy.url, lossDepth: 12, logger: false })
    const wave = (index: number) => startBurst(sender, WAVE, index * WAVE + 1)
    await within(LIMIT_MS, 'the first wave', wave(0).done)
    const rewind = await running.description.markForRewind(running.rpc)
    await within(LIMIT_MS, 'the second wave', wave(1).done)
    const third = wave(2)
    await rewind()
    const startMs = systemClock.now()
    await within(LIMIT_MS, 'the third wave', third.done)
    const count = 3 * WAVE
    await until(LIMIT_MS, 'the payments of the blocks that were taken off', async () =>
      isOnce(await landedOf(running, fresh), count),
    ).catch(() => undefined)
    const took = seconds(systemClock.now() - startMs)
    const { holds } = await sender.snapshot()
    await sender.close()
    const landed = await landedOf(running, fresh)
    const held = holds.length === 0 ? '' : `, holds: ${holds.join(' ')}`
    const sends = proxy.sends / count
    return {
      ok: isOnce(landed, count) && holds.length === 0 && sends <= SENDS_MAX,
      says: `${landed.distinct} of ${count} on the new chain after ${took}, ${landed.noops} no-ops, ${sends.toFixed(2)} sends each${held}`,
    }
  },
}
