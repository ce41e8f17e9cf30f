import type { Sender, Tx } from '../../../src/index.js'
import { startNodeProxy } from '../../support/nodeProxy.js'
import type { RunningNode } from '../run/startNode.js'
import { freshAccount } from '../tools/accounts.js'
import { type Landed, landedOf } from '../tools/landed.js'
import { mineUntil, openLane, payment, until } from '../tools/lane.js'
import { FEES } from '../tools/workbench.js'
import type { Held, NodeCase, Setting } from './nodeCase.js'

const LIMIT_MS = 20_000

/** One payment in the pool of a node that makes no block by itself. */
type Pooled = {
  readonly running: RunningNode
  readonly sender: Sender
  /** A payment of 1 wei. */
  readonly tx: Tx
  /** Resolves when the node has answered this total number of transactions. */
  answered(count: number): Promise<void>
  /** The account's transactions in the blocks. */
  landed(): Promise<Landed>
}

/** `act` changes the payment, and makes the blocks. */
async function withPooled(setting: Setting, act: (pooled: Pooled) => Promise<Held>): Promise<Held> {
  const running = await setting.shared('manual')
  await using proxy = await startNodeProxy(running.url)
  const fresh = await freshAccount(running)
  await using sender = await openLane(running, fresh, { url: proxy.url, lossDepth: 'child' })
  const tx = await sender.send(payment(1n))
  return await act({
    running,
    sender,
    tx,
    answered: (count) => until(LIMIT_MS, `transaction ${count} at the node`, () => proxy.answered >= count),
    landed: () => landedOf(running, fresh),
  })
}

/** The values of the transactions that were executed, in the order of their nonces. */
function valuesOf({ all }: Landed): string {
  return all.map(({ value }) => Number(value)).join(', ')
}

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
