import type { Hash, Hex } from 'viem'
import type { EndpointRole } from '../../src/rpc/port.js'
import type { DeliveryMeter } from './delivered.js'
import type { Violation } from './oracle.js'
import type { Order } from './order.js'
import type { Plan } from './plan.js'
import { programOf } from './program.js'
import type { SimStore } from './simStore.js'
import { decodeTransaction } from './transaction.js'

/** Everything that was ever sent, and the violations seen on the wire. */
export type Wire = {
  readonly raws: ReadonlySet<Hex>
  /** Private transactions that reached an unauthorised endpoint. */
  readonly shown: readonly Violation[]
  /** Sent bytes that were not journaled before. */
  readonly unjournaled: readonly string[]
  /** Called with all bytes that the sender hands to an endpoint. */
  onRaw(raw: Hex, role: EndpointRole, port: string): void
  /** Adds bytes that outside code sends past the sender. */
  add(raw: Hex): void
}

export function createWire(options: {
  readonly plan: Plan
  readonly store: Pick<SimStore, 'journaled'>
  readonly order: Order
  readonly meter: DeliveryMeter
  readonly strike: (what: string) => void
}): Wire {
  const { store, order, meter, strike } = options
  const raws = new Set<Hex>()
  const shown: Violation[] = []
  const unjournaled: string[] = []
  const secrets = secretsOf(options.plan)
  return {
    raws,
    shown,
    unjournaled,
    onRaw(raw, role, port) {
      meter.sent(port, raw)
      const tx = decodeTransaction(raw)
      const hash = tx?.hash as Hash
      const marker = tx && programOf(tx)?.marker
      if (marker !== undefined && secrets.has(marker)) {
        strike('private')
        if (role !== 'send') shown.push({ promise: 'private', text: `shown to a ${role} endpoint`, marker })
      }
      if (!store.journaled.has(hash)) unjournaled.push(`${hash} was sent before it was journaled`)
      order.sent(raw)
      raws.add(raw)
    },
    add: (raw) => void raws.add(raw),
  }
}

/** The markers of private transactions and of their replacements, which are private too. */
function secretsOf({ items }: Plan): ReadonlySet<number> {
  const secret = items.filter((item) => item.private)
  return new Set(secret.flatMap(({ marker, changes }) => [marker, ...changes.map((each) => each.marker)]))
}
