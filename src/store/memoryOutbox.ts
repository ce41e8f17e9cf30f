import type { DeliveriesBy, OutboxLease, OutboxVerbs, StoredDelivery } from '../types/outbox.js'
import { type ChainKey, type LaneKey, laneName, transactionName } from '../types/store.js'
import { outboxLost } from './leaseLost.js'
import { isHeld, isOwner, type LeaseState, takeLease } from './leaseTime.js'

type Outbox = LeaseState & {
  isKnown: boolean
  readonly read: Map<string, number>
  readonly deliveries: Map<string, StoredDelivery>
  /** The number of `deliveries` in each state, counted because there are many. */
  readonly counts: Record<StoredDelivery['state'], number>
}

/** The outbox records of the memory store. `forget` is called when a transaction is deleted. */
export function createMemoryOutboxes(parts: {
  readonly now: () => number
  readonly lanes: () => Iterable<{ readonly key: LaneKey; readonly revision: number }>
  readonly isStored: (chain: ChainKey, id: string) => boolean
}): { readonly verbs: OutboxVerbs; forget(chain: ChainKey, id: string): void } {
  const { now, lanes, isStored } = parts
  const outboxes = new Map<string, Outbox>()

  function outboxOf(name: string): Outbox {
    const found = outboxes.get(name) ?? newOutbox()
    outboxes.set(name, found)
    return found
  }

  function checked(lease: OutboxLease): Outbox {
    const outbox = outboxOf(lease.name)
    if (isOwner(outbox, lease)) return outbox
    throw outboxLost()
  }

  function found({ deliveries }: Outbox, by: DeliveriesBy): readonly StoredDelivery[] {
    if ('ids' in by) return by.ids.flatMap((id) => deliveries.get(transactionName(by.chain, id)) ?? [])
    return [...deliveries.values()].filter(({ state }) => state === by.state).slice(0, by.limit)
  }

  return {
    forget(chain, id) {
      for (const outbox of outboxes.values()) put(outbox, transactionName(chain, id), undefined)
    },
    verbs: {
      async takeOutbox(name, holder, ttlMs) {
        const outbox = outboxOf(name)
        return takeLease(outbox, holder, ttlMs, now()) ? { name, epoch: outbox.epoch, holder } : undefined
      },
      async releaseOutbox(lease) {
        const outbox = outboxOf(lease.name)
        if (isOwner(outbox, lease)) outbox.holder = undefined
      },
      async writeOutbox(lease, { read, deliveries }) {
        const outbox = checked(lease)
        outbox.isKnown = true
        for (const { lane, revision } of read) {
          const name = laneName(lane)
          outbox.read.set(name, Math.max(outbox.read.get(name) ?? 0, revision))
        }
        for (const delivery of deliveries) {
          const { chain, id } = delivery
          if (isStored(chain, id)) put(outbox, transactionName(chain, id), delivery)
        }
      },
      async readOutbox(name) {
        const outbox = outboxes.get(name) ?? newOutbox()
        const { isKnown, read, counts } = outbox
        const all = [...lanes()].map(({ key, revision }) => ({
          lane: key,
          revision,
          read: read.get(laneName(key)) ?? 0,
        }))
        return {
          isKnown,
          isHeld: isHeld(outbox, now()),
          behind: all.filter((one) => one.revision > one.read),
          open: counts.open,
          dead: counts.dead,
        }
      },
      deliveries: async (name, by) => found(outboxes.get(name) ?? newOutbox(), by),
    },
  }
}

function put({ deliveries, counts }: Outbox, name: string, delivery: StoredDelivery | undefined): void {
  const before = deliveries.get(name)
  if (before) counts[before.state]--
  if (delivery === undefined) return void deliveries.delete(name)
  counts[delivery.state]++
  deliveries.set(name, delivery)
}

function newOutbox(): Outbox {
  return {
    epoch: 0,
    holder: undefined,
    untilMs: 0,
    leaseMs: 0,
    isKnown: false,
    read: new Map(),
    deliveries: new Map(),
    counts: { delivered: 0, open: 0, dead: 0 },
  }
}
