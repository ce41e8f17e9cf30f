import type { TxlaneError, TxRequest } from '../../../src/index.js'
import { freshAccount } from '../tools/accounts.js'
import { landedOf } from '../tools/landed.js'
import { openLane, payment } from '../tools/lane.js'
import { within } from '../tools/within.js'
import { NOBODY, openWorkbench } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'

const LIMIT_MS = 60_000
/** Far enough above the account's next nonce that no block includes them. */
const STUCK = [5, 6]

/**
 * A relayer delegates for an account whose pooled transactions cannot be mined. geth refuses such a
 * delegation as long as they are in the pool ("authority already reserved"). The lane must continue in any
 * case.
 */
export const reserved: NodeCase = {
  name: 'delegation for an account with stuck transactions',
  needs: ['delegation'],
  async run(setting) {
    await using running = await setting.start({ mode: 'interval', more: setting.description.saysRefusals })
    await using bench = await openWorkbench(running)
    const stuck = await freshAccount(running)
    for (const nonce of STUCK) await bench.send((await bench.sign(stuck.account, { nonce })).raw)
    const fresh = await freshAccount(running)
    await using sender = await openLane(running, fresh)
    const authorize = [{ contractAddress: NOBODY, account: stuck.account }]
    const request = { to: stuck.account.address, gas: 100_000n, authorize }
    const tx = await sender.send(request as unknown as TxRequest, { until: 'queued' })
    const behind = await sender.send(payment(1n), { until: 'queued' })
    const ends = Promise.all([endOf(tx.wait('sealed')), endOf(behind.wait('sealed'))])
    const [delegation, paid] = await within(LIMIT_MS, 'the delegation and the payment behind it', ends)
    const landed = await landedOf(running, fresh)
    const isReported = delegation === 'sealed' || /^REJECTED .*authority already reserved/.test(delegation)
    return {
      ok: isReported && paid === 'sealed' && landed.dense && landed.distinct === 1,
      says: `the delegation: ${delegation}; the payment behind it: ${paid}`,
    }
  },
}

async function endOf(waited: Promise<unknown>): Promise<string> {
  try {
    await waited
    return 'sealed'
  } catch (error) {
    const { code, message } = error as TxlaneError
    return `${code} ${message.replaceAll('\n', ' ')}`
  }
}
