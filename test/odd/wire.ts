import type { Hash, Hex } from 'viem'
import type { Clock } from '../../src/platform/clock.js'
import { isNoop } from '../sim/foreign.js'
import { programOf } from '../sim/program.js'
import { decodeTransaction, type SimTransaction } from '../sim/transaction.js'

/** The first appearance of some bytes on the wire. */
export type Sent = {
  /** Milliseconds since the world began. */
  readonly atMs: number
  readonly tx: SimTransaction
  /** Undefined for a no-op. */
  readonly marker: number | undefined
}

/** Everything that the sender ever sent to an endpoint. */
export type Wire = {
  readonly raws: ReadonlySet<Hex>
  readonly first: ReadonlyMap<Hash, Sent>
  /** The number of sends of any bytes. */
  readonly times: number
  sent(raw: Hex): void
}

export function createWire(clock: Clock, say: (text: string) => void): Wire {
  const raws = new Set<Hex>()
  const first = new Map<Hash, Sent>()
  const beganMs = clock.now()
  let times = 0
  return {
    raws,
    first,
    get times() {
      return times
    },
    sent(raw) {
      times++
      raws.add(raw)
      const tx = decodeTransaction(raw)
      if (tx === undefined) return
      const marker = programOf(tx)?.marker
      say(`sent ${isNoop(tx) ? 'no-op' : marker} at nonce ${tx.nonce}`)
      if (!first.has(tx.hash)) first.set(tx.hash, { atMs: clock.now() - beganMs, tx, marker })
    },
  }
}
