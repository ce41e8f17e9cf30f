import { type Hex, parseGwei } from 'viem'
import { startNodeProxy } from '../../support/nodeProxy.js'
import { freshAccount } from '../tools/accounts.js'
import { isOnce, landedOf } from '../tools/landed.js'
import { openLane, startBurst, until } from '../tools/lane.js'
import { within } from '../tools/within.js'
import { openWorkbench } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'

const AMOUNT = 300
const AHEAD = 150
const VALUE = 1_000_000n
const LIMIT_MS = 120_000
/** One send per payment, and some more for the payments that the other transaction displaces. */
const SENDS_MAX = 1.5

/** Another wallet with the same key outbids the lane at a nonce during a burst. */
export const foreign: NodeCase = {
  name: 'foreign transaction in mid-burst',
  async run(setting) {
    const running = await setting.shared('interval')
    await using proxy = await startNodeProxy(running.url)
    await using bench = await openWorkbench(running)
    const fresh = await freshAccount(running)
    const sender = await openLane(running, fresh, { url: proxy.url })
    const seen: number[] = []
    sender.on('foreign', ({ nonce }) => void seen.push(nonce))
    const burst = startBurst(sender, AMOUNT)
    await until(LIMIT_MS, 'the first 20 transactions', () => proxy.sends >= 20)
    const used = Number(
      (await running.rpc.call('eth_getTransactionCount', fresh.account.address, 'latest')) as Hex,
    )
    const nonce = used + AHEAD
    const fees = { maxFeePerGas: parseGwei('200'), maxPriorityFeePerGas: parseGwei('100') }
    const fields = { nonce: nonce - bench.firstNonce, value: VALUE, ...fees }
    const outbids = await bench.sign(fresh.account, fields)
    const reply = await bench.send(outbids.raw)
    await within(LIMIT_MS, 'the burst', burst.done)
    await sender.close()
    const landed = await landedOf(running, fresh)
    const stood = landed.all.some(({ hash }) => hash === outbids.hash)
    const taken = reply.ok ? 'taken' : `refused (${reply.failure.message})`
    const sends = proxy.sends / AMOUNT
    return {
      ok: isOnce(landed, AMOUNT + (stood ? 1 : 0)) && burst.sealed === AMOUNT && sends <= SENDS_MAX,
      says: `${burst.sealed} of ${AMOUNT} landed; the other one, at nonce ${nonce}, was ${taken} and ${stood ? 'executed' : 'not executed'}; reported as foreign: ${seen.join(' ') || 'none'}; ${sends.toFixed(2)} sends each`,
    }
  },
}
