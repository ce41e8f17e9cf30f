import type { Hex } from 'viem'
import type { Slot } from '../../src/ledger/slot.js'
import { memoryStore } from '../../src/store/memory.js'
import type { Store } from '../../src/types/store.js'
import type { Draws, Gates } from './gates.js'

/** The fate of one write. */
export type Takes = 'takes' | 'fails' | 'takes, but loses the answer'

export type GatedStore = Store & {
  /** All bytes that were ever committed: each may have been sent, by any process, at any later time (P2). */
  readonly journaled: ReadonlySet<Hex>
  /** The bytes in the store by nonce, as a new process would find them. */
  readonly kept: ReadonlyMap<number, readonly Hex[]>
  /** Nonces whose first write is pending, so that it is unknown if the store has it. */
  readonly awaiting: ReadonlySet<number>
  /** Writes without an answer. */
  readonly writing: number
  /** Called before each write. */
  onWrite: (() => void) | undefined
}

/** An in-memory store whose every answer waits for the schedule. */
export function createGatedStore(
  gates: Gates,
  draws: { writes: Draws<Takes>; ids: Draws<Takes> },
): GatedStore {
  const inner = memoryStore()
  const journaled = new Set<Hex>()
  const kept = new Map<number, readonly Hex[]>()
  const acknowledged = new Set<Hex>()
  const awaiting = new Set<number>()
  let writing = 0

  function acknowledge(slots: readonly Slot[]): void {
    for (const { nonce, attempts } of slots) {
      awaiting.delete(nonce)
      for (const { raw } of attempts) acknowledged.add(raw)
    }
  }

  /** A no-op fills an existing gap: transactions above it may already have been sent. */
  function begun(slots: readonly Slot[]): void {
    for (const { nonce, attempts } of slots) {
      const known = attempts.some(({ raw }) => acknowledged.has(raw))
      if (!known && attempts.some(({ claim }) => claim !== undefined)) awaiting.add(nonce)
    }
  }

  /** The write itself happens at some time between the two gates, as in a database. */
  async function raced<T>(name: string, takes: Takes, work: () => Promise<T>): Promise<T> {
    await gates.pass(name)
    if (takes === 'fails') throw new Error('the connection is gone')
    const result = await work()
    await gates.pass(`${name} answers`)
    if (takes === 'takes') return result
    throw Object.assign(new Error('the connection is gone'), { details: 'unknown' })
  }

  const store: GatedStore = {
    ...inner,
    journaled,
    kept,
    awaiting,
    get writing() {
      return writing
    },
    onWrite: undefined,
    acquire: (...given) => raced('acquire', 'takes', () => inner.acquire(...given)),
    release: (...given) => raced('release', 'takes', () => inner.release(...given)),
    async load(lease) {
      const state = await raced('load', 'takes', () => inner.load(lease))
      // A pending write that the read does not show was not stored: it is written again, or given up.
      awaiting.clear()
      acknowledge(state.slots)
      return state
    },
    find: (...given) => raced('find', 'takes', () => inner.find(...given)),
    enqueue: (...given) => raced('enqueue', draws.ids.next(), () => inner.enqueue(...given)),
    async write(lease, change) {
      store.onWrite?.()
      begun(change.slots)
      writing++
      await raced('write', draws.writes.next(), async () => {
        await inner.write(lease, change)
        for (const { nonce, attempts } of change.slots) {
          kept.set(
            nonce,
            attempts.map(({ raw }) => raw),
          )
          for (const { raw } of attempts) journaled.add(raw)
        }
      }).finally(() => writing--)
      acknowledge(change.slots)
    },
  }
  return store
}
