import { mineUntil } from '../tools/lane.js'
import { FEES } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'
import { valuesOf, withPooled } from './pooledLane.js'

/** A pooled payment is executed once, at its raised fees. */
export const speedUp: NodeCase = {
  name: 'speedUp',
  quick: true,
  run: (setting) =>
    withPooled(setting, async ({ running, tx, answered, landed }) => {
      await tx.speedUp({
        maxFeePerGas: FEES.maxFeePerGas * 10n,
        maxPriorityFeePerGas: FEES.maxPriorityFeePerGas * 10n,
      })
      await answered(2)
      const { hash } = await mineUntil(running, 'the payment', tx.wait('sealed'))
      const values = valuesOf(await landed())
      const raised = tx.attempts.at(-1)
      const landedAs = tx.attempts.findIndex((one) => one.hash === hash) + 1
      return {
        ok: values === '1' && hash === raised?.hash && tx.attempts.length > 1,
        says: `attempt ${landedAs} of ${tx.attempts.length} landed; executed: ${values} wei`,
      }
    }),
}
