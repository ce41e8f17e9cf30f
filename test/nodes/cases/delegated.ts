import type { TxRequest } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { startNodeProxy } from '../../support/nodeProxy.js'
import { freshAccount } from '../tools/accounts.js'
import { landedOf } from '../tools/landed.js'
import { openLane, startBurst } from '../tools/lane.js'
import { within } from '../tools/within.js'
import { NOBODY } from '../tools/workbench.js'
import { type NodeCase, seconds } from './nodeCase.js'

const AMOUNT = 10
const LIMIT_MS = 60_000
/**
 * Each transaction needs one copy. geth answers with a hash even for transactions of such an account that it
 * drops.
 */
const SENDS_MAX = 1.5

/**
 * An account that delegates through the lane and then sends: pools accept few of its transactions at once.
 */
export const delegated: NodeCase = {
  name: 'delegated account',
  needs: ['delegation'],
  async run(setting) {
    const running = await setting.shared('interval')
    await using proxy = await startNodeProxy(running.url)
    const fresh = await freshAccount(running)
    await using sender = await openLane(running, fresh, { url: proxy.url })
    const { address } = fresh.account
    const request = { to: address, gas: 100_000n, authorize: [{ contractAddress: NOBODY }] }
    const tx = await sender.send(request as unknown as TxRequest)
    await within(LIMIT_MS, 'the delegation', tx.wait('sealed'))
    const [before, startMs] = [proxy.sends, systemClock.now()]
    const burst = startBurst(sender, AMOUNT)
    await within(LIMIT_MS, 'the payments', burst.done)
    const took = seconds(systemClock.now() - startMs)
    const { account } = await sender.snapshot()
    const { paid, distinct } = await landedOf(running, fresh)
    const sendsEach = (proxy.sends - before) / AMOUNT
    const isOnce = paid === AMOUNT && distinct === AMOUNT
    return {
      ok: account.kind === 'delegated' && isOnce && sendsEach <= SENDS_MAX,
      says: `${account.kind}; ${distinct} of ${AMOUNT} landed, ${sendsEach.toFixed(2)} sends each, ${took}`,
    }
  },
}
