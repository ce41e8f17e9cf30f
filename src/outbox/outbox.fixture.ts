import type { LocalAccount } from 'viem'
import { startProcess } from '../../test/sim/process.js'
import { createRandom } from '../../test/sim/random.js'
import { createVirtualClock, type VirtualClock } from '../../test/sim/virtualClock.js'
import { transactionIn } from '../store/contract/samples.js'
import { memoryStore } from '../store/memory.js'
import type { LaneKey, Lease, Store, StoredTransaction } from '../types/store.js'
import { createOutboxIn } from './createOutbox.js'
import type { Delivery, Outbox, OutboxOptions } from './types.js'

export const LANE: LaneKey = {
  chainId: 1,
  genesisHash: `0x${'1'.repeat(64)}`,
  address: `0x${'a'.repeat(40)}`,
}
export const OTHER_LANE: LaneKey = { ...LANE, address: `0x${'b'.repeat(40)}` }

export const blockOf = (name: string) => ({ number: 7, hash: `0x${name.repeat(64)}` as const })

/** An outbox in a process of its own. */
export type Running = {
  readonly outbox: Outbox
  /** Each call of the handler: `id:stage`. */
  readonly calls: string[]
  readonly deliveries: Delivery[]
  readonly lines: string[]
  readonly store: Store
  kill(): void
  stop(): void
  cont(): void
}

export type Outboxes = {
  readonly clock: VirtualClock
  readonly store: Store
  /** Keeps a transaction, or what it is now. */
  put(id: string, over: Partial<StoredTransaction>, lane?: LaneKey): Promise<void>
  start(options?: Partial<OutboxOptions>): Running
  /** As `start`, once the name is in the store. */
  started(options?: Partial<OutboxOptions>): Promise<Running>
  settle<T>(promise: Promise<T>): Promise<T>
  /** What is kept of one transaction. */
  kept(id: string, name?: string): Promise<unknown>
}

/** Processes with outboxes over one store, in virtual time. */
export function openOutboxes(given?: Store): Outboxes {
  const clock = createVirtualClock()
  const store: Store = given ?? { ...memoryStore({ now: clock.wallNow }), durable: true }
  // Shared: processes that draw alike would have one name.
  const random = createRandom(1)
  const leases = new Map<string, Lease>()
  const placed = new Map<string, StoredTransaction>()

  async function leaseOf(lane: LaneKey): Promise<Lease> {
    const lease = leases.get(lane.address) ?? (await store.acquire(lane, 'lane', 10 ** 9))
    if (lease === undefined) throw new Error('the lane is free')
    leases.set(lane.address, lease)
    return lease
  }

  const outboxes: Outboxes = {
    clock,
    store,
    async put(id, over, lane = LANE) {
      const lease = await leaseOf(lane)
      if (!placed.has(id)) {
        const [kept] = await store.enqueue([transactionIn(lane, id)])
        placed.set(id, kept?.transaction as StoredTransaction)
      }
      const next = { ...(placed.get(id) as StoredTransaction), ...over }
      placed.set(id, next)
      await store.write(lease, { slots: [], transactions: [next], cursor: 0 })
    },
    start(options = {}) {
      const process = startProcess({ clock, ports: [], account: {} as LocalAccount, store })
      const [calls, deliveries, lines]: [string[], Delivery[], string[]] = [[], [], []]
      const { onStage = () => {}, ...rest } = options
      const environment = {
        clock: process.clock,
        background: process.clock,
        random,
        warn: (line: string) => void lines.push(line),
      }
      const outbox = createOutboxIn(environment, {
        store: process.store,
        name: 'orders',
        onStage(delivery, context) {
          calls.push(`${delivery.tx.id}:${delivery.stage}`)
          deliveries.push(delivery)
          return onStage(delivery, context)
        },
        ...rest,
      })
      const { kill, stop, cont } = process
      return { outbox, calls, deliveries, lines, store: process.store, kill, stop, cont }
    },
    async started(options) {
      const running = outboxes.start(options)
      await outboxes.settle(running.outbox.ready())
      return running
    },
    async settle(promise) {
      let open = true
      const watched = promise.finally(() => {
        open = false
      })
      watched.catch(() => {})
      await clock.runUntil(() => !open, 120_000)
      if (open) throw new Error('the promise is still open')
      return watched
    },
    async kept(id, name = 'orders') {
      const { chainId, genesisHash } = LANE
      return (await store.deliveries(name, { chain: { chainId, genesisHash }, ids: [id] }))[0]
    },
  }
  return outboxes
}

/** A handler that does what the first of the list says, then the second, then nothing. */
export function scripted(...steps: readonly (() => unknown)[]): () => unknown {
  const left = [...steps]
  return () => left.shift()?.()
}
