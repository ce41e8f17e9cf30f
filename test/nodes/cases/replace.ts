import { mineUntil, payment, until } from '../tools/lane.js'
import type { NodeCase } from './nodeCase.js'
import { valuesOf, withPooled } from './pooledLane.js'

const LIMIT_MS = 20_000

/** Of a pooled payment and its replacement, only the second is executed. */
export const replace: NodeCase = {
  name: 'replace',
  quick: true,
  run: (setting) =>
    withPooled(setting, async ({ running, tx, answered, landed }) => {
      const replacing = tx.replace(payment(2n))
      await answered(2)
      const { nonce } = await mineUntil(
        running,
        'the replacement',
        replacing.then((one) => one.wait('sealed')),
      )
      // The end is certain after one more block.
      const ended = until(LIMIT_MS, 'the end of the first', () => tx.stage === 'superseded')
      await mineUntil(running, 'the end of the first', ended)
      const values = valuesOf(await landed())
      return {
        ok: values === '2' && nonce === tx.nonce,
        says: `the first is ${tx.stage}; executed: ${values} wei`,
      }
    }),
}
