import { formatGwei, type LocalAccount, parseGwei } from 'viem'
import type { FeePreset, Tx } from '../../../src/index.js'
import { freshAccount } from '../tools/accounts.js'
import { mineUntil, openLane, payment } from '../tools/lane.js'
import { openWorkbench } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'

const PRESETS = ['economy', 'normal', 'urgent'] as const satisfies readonly FeePreset[]
/**
 * The tips of three transfers: if one block has all of them, they are the 10th, 50th and 90th percentile of
 * its gas.
 */
const TIPS = [parseGwei('1'), parseGwei('3'), parseGwei('9')]
const BLOCKS = 4

/** The presets offer the tips that recent blocks paid, even with an empty block in between. */
export const presets: NodeCase = {
  name: 'presets',
  quick: true,
  async run(setting) {
    await using running = await setting.start({ mode: 'manual' })
    await using bench = await openWorkbench(running)
    // One after the other, because each makes blocks until the account is funded.
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
    // The node decides which of them share a block.
    const isPaid = tips.every((tip) => TIPS.includes(tip))
    const isRising = tips.every((tip, at) => at === 0 || tip >= (tips[at - 1] as bigint))
    return {
      ok: isPaid && isRising,
      says: `${PRESETS.map((name, at) => `${name} ${formatGwei(tips[at] as bigint)}`).join(', ')} gwei`,
    }
  },
}
