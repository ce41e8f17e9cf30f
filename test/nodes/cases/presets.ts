import { formatGwei, type LocalAccount, parseGwei } from 'viem'
import type { FeePreset, Tx } from '../../../src/index.js'
import { freshAccount } from '../tools/accounts.js'
import { mineUntil, openLane, payment } from '../tools/lane.js'
import { openWorkbench } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'

const PRESETS = ['economy', 'normal', 'urgent'] as const satisfies readonly FeePreset[]
/** What three transfers pay: where one block has all, the 10th, the 50th and the 90th percentile of its gas. */
const TIPS = [parseGwei('1'), parseGwei('3'), parseGwei('9')]
const BLOCKS = 4

/** What blocks paid is what presets offer, an empty block in between notwithstanding. */
export const presets: NodeCase = {
  name: 'presets',
  quick: true,
  async run(setting) {
    await using running = await setting.start({ mode: 'manual' })
    await using bench = await openWorkbench(running)
    // One after the other: each makes blocks until it has its money.
    const accounts: LocalAccount[] = []
    for (const _ of TIPS) accounts.push(await bench.account())
    for (let nonce = 0; nonce < BLOCKS; nonce++) {
      const fees = (tip: bigint) => ({ nonce, maxPriorityFeePerGas: tip, maxFeePerGas: parseGwei('20') })
      const signed = await Promise.all(accounts.map((one, at) => bench.sign(one, fees(TIPS[at] as bigint))))
      for (const one of signed) await bench.take(one)
      for (const { hash } of signed) while ((await bench.fateOf(hash)) !== 'mined');
    }
    const sender = await openLane(running, await freshAccount(running))
    const txs: Tx[] = []
    for (const feePreset of PRESETS) txs.push(await sender.send(payment(1n), { feePreset }))
    const tips = txs.map((tx) => tx.attempts[0]?.fees.maxPriorityFeePerGas ?? 0n)
    await mineUntil(running, 'the payments', Promise.all(txs.map((tx) => tx.wait('sealed'))))
    await sender.close()
    // Which of them share a block is the node's matter.
    const isPaid = tips.every((tip) => TIPS.includes(tip))
    const isRising = tips.every((tip, at) => at === 0 || tip >= (tips[at - 1] as bigint))
    return {
      ok: isPaid && isRising,
      says: `${PRESETS.map((name, at) => `${name} ${formatGwei(tips[at] as bigint)}`).join(', ')} gwei`,
    }
  },
}
