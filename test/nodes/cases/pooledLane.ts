import type { Sender, Tx } from '../../../src/index.js'
import { startNodeProxy } from '../../support/nodeProxy.js'
import type { RunningNode } from '../run/startNode.js'
import { freshAccount } from '../tools/accounts.js'
import { type Landed, landedOf } from '../tools/landed.js'
import { openLane, payment, until } from '../tools/lane.js'
import type { Held, Setting } from './nodeCase.js'

const LIMIT_MS = 20_000

/** One payment in the pool of a node that makes no block by itself. */
export type Pooled = {
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
export async function withPooled(setting: Setting, act: (pooled: Pooled) => Promise<Held>): Promise<Held> {
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
export function valuesOf({ all }: Landed): string {
  return all.map(({ value }) => Number(value)).join(', ')
}
