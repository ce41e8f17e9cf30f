import { FEES } from '../tools/workbench.js'
import type { Refusal } from './refusal.js'

/** The number of transactions in the pool of a `smallPool` node. */
const OTHERS = 8

export const fullPool: Refusal = {
  name: 'full pool',
  needs: 'smallPool',
  async provoke(bench) {
    const accounts = []
    for (let made = 0; made <= OTHERS; made++) accounts.push(await bench.account())
    const [last, ...others] = accounts as [(typeof accounts)[0], ...typeof accounts]
    for (const account of others) await bench.take(await bench.sign(account))
    const cheaper = {
      maxFeePerGas: FEES.maxFeePerGas / 2n,
      maxPriorityFeePerGas: FEES.maxPriorityFeePerGas / 2n,
    }
    // By then the other transactions are in blocks.
    return { signed: await bench.sign(last, cheaper), account: last, cure: async () => {} }
  },
}
