import { mineUntil, payment } from '../tools/lane.js'
import type { NodeCase } from './nodeCase.js'
import { valuesOf, withPooled } from './pooledLane.js'

/** The no-op takes the nonce of a pooled payment, and the lane continues after it. */
export const cancel: NodeCase = {
  name: 'cancel',
  quick: true,
  run: (setting) =>
    withPooled(setting, async ({ running, sender, tx, answered, landed }) => {
      const cancelled = tx.cancel()
      await answered(2)
      const { result } = await mineUntil(running, 'the cancel', cancelled)
      const next = await sender.send(payment(2n))
      await mineUntil(running, 'the next payment', next.wait('sealed'))
      const values = valuesOf(await landed())
      return { ok: result === 'cancelled' && values === '0, 2', says: `${result}; executed: ${values} wei` }
    }),
}
