import { systemClock } from '../../../src/platform/clock.js'
import { startNodeProxy } from '../../support/nodeProxy.js'
import { freshAccount } from '../tools/accounts.js'
import { isOnce, landedOf } from '../tools/landed.js'
import { openLane, startBurst, until } from '../tools/lane.js'
import { within } from '../tools/within.js'
import { type NodeCase, seconds } from './nodeCase.js'

const WAVE = 300
const LIMIT_MS = 120_000
/**
 * While the node is down the same bytes are retried with growing delays. After that, the transactions of its
 * lost pool are sent once more.
 */
const SENDS_MAX = 5

/** The node ends during a burst, and restarts with its chain; the content of its pool may be lost. */
const restarted = (name: string, signal: 'SIGTERM' | 'SIGKILL'): NodeCase => ({
  name,
  needs: signal === 'SIGKILL' ? ['disk', 'kill'] : ['disk'],
  async run(setting) {
    await using running = await setting.start({ mode: 'interval', onDisk: true })
    await using proxy = await startNodeProxy(running.url)
    const fresh = await freshAccount(running)
    // A node that is killed may come back with a shorter chain, but the account's funding must survive.
    await running.restart('SIGTERM')
    const sender = await openLane(running, fresh, { url: proxy.url, lossDepth: 64, logger: false })
    await within(LIMIT_MS, 'the first payments', startBurst(sender, WAVE).done)
    const before = proxy.sends
    const burst = startBurst(sender, WAVE, WAVE + 1)
    await until(LIMIT_MS, 'half of the burst', () => proxy.sends >= before + WAVE / 2)
    await running.restart(signal)
    const startMs = systemClock.now()
    await within(LIMIT_MS, 'the burst', burst.done)
    // A chain that came back shorter has to include the first payments again.
    const isComplete = async () => isOnce(await landedOf(running, fresh), 2 * WAVE)
    await until(LIMIT_MS, 'every payment', isComplete).catch(() => undefined)
    const took = seconds(systemClock.now() - startMs)
    await sender.close()
    const landed = await landedOf(running, fresh)
    const sends = proxy.sends / (2 * WAVE)
    return {
      ok: isOnce(landed, 2 * WAVE) && burst.sealed === WAVE && sends <= SENDS_MAX,
      says: `${landed.distinct} of ${2 * WAVE} landed, the last ${took} after the node was back, ${sends.toFixed(2)} sends each`,
    }
  },
})

export const restarts: readonly NodeCase[] = [
  restarted('restart in mid-burst', 'SIGTERM'),
  restarted('killed in mid-burst', 'SIGKILL'),
]
