import { FEES } from '../tools/workbench.js'
import type { RefusalName } from './names.js'
import type { Refusal } from './refusal.js'

const raised = (percent: bigint) => ({
  maxFeePerGas: (FEES.maxFeePerGas * (100n + percent)) / 100n,
  maxPriorityFeePerGas: (FEES.maxPriorityFeePerGas * (100n + percent)) / 100n,
})

const replacement = (name: RefusalName, percent: bigint): Refusal => ({
  name,
  async provoke(bench) {
    const account = await bench.account()
    const rival = await bench.sign(account)
    await bench.take(rival)
    return { signed: await bench.sign(account, { value: 2n, ...raised(percent) }), account, rival }
  },
})

export const replacements: readonly Refusal[] = [
  replacement('replacement at +1 %', 1n),
  replacement('replacement at +9 %', 9n),
  replacement('replacement at +10 %', 10n),
]
